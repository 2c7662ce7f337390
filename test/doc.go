// SPDX-License-Identifier: Apache-2.0

// Package test runs the behaviour scripts in the folder scripts against the built commands.
package test
