// SPDX-License-Identifier: Apache-2.0

// Package mounter tests the mounter for drivers on emulated nodes. It is a module of its own, so that the mounter's
// users do not need the agent's dependencies.
package mounter
