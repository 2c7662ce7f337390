// SPDX-License-Identifier: Apache-2.0

// Package calls has the client of an agent, with its messages and errors, apart from the connection to an agent.
//
// Drivers import package csiproxy, which has the same names and connects. The agent imports this package, to make calls
// of its own API without a connection.
package calls
