// SPDX-License-Identifier: Apache-2.0

// Package limits bounds what the clients of a server cost: their connections, their open calls and the operations that
// run for them. A client is a process; where the system does not tell processes apart, each connection is one.
package limits
