// SPDX-License-Identifier: Apache-2.0

// Package csiproxytest gives a test of a CSI driver a Windows node with a CSI Proxy agent, on any machine: at unix
// sockets, or at named pipes on Windows. The agent is the real one, with all its API groups and versions; the node is made
// of files in a temporary directory, and the test plays its hardware, its cloud and its file servers.
//
// A driver that is given its clients gets those of a Node, or any version of them from Client. A driver that opens its
// clients itself, with NewClient of the client packages, finds the node after Setenv; one that is not written in Go
// finds the sockets in SocketDir, or in the environment variable CSI_PROXY_SOCKET_DIR that Setenv sets. On Windows a node
// has pipes of its own, unless Options.PlainPipes asks for the ones that drivers open.
//
// When a test fails, the node's disks and the journal, with every API call and every kernel call that was made for it,
// are part of the test's log.
package csiproxytest
