// SPDX-License-Identifier: Apache-2.0

// Package admission bounds what the clients of an agent cost, so that none of them can take the agent from the others: the
// connections that they have open, the calls that run and those that wait for their turn, the other streams, and the log
// lines that their calls cause. A client is a process.
package admission
