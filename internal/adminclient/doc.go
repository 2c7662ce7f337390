// SPDX-License-Identifier: Apache-2.0

// Package adminclient calls an agent's admin endpoint.
package adminclient
