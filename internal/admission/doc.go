// SPDX-License-Identifier: Apache-2.0

// Package admission bounds what the clients of an agent cost, so that no client can lock out the others: their open
// connections, running calls, calls that wait for their turn, other streams, and the log lines that their calls cause. A
// client is a process.
package admission
