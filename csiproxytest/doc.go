// SPDX-License-Identifier: Apache-2.0

// Package csiproxytest gives the test of a CSI driver a Windows node with a CSI Proxy agent on any machine, at unix
// sockets, or at named pipes on Windows. The agent is the real one, with all its API groups and versions; the node is
// made of files in a temporary directory, and the test plays its hardware, its cloud and its file servers.
//
// A driver that takes its clients as arguments gets those of a Node, or any version of them from Client. A driver that
// opens its clients itself, with NewClient of the client packages, finds the node after Setenv; one that is not written
// in Go finds the sockets in SocketDir, or in the environment variable CSI_PROXY_SOCKET_DIR that Setenv sets. On
// Windows a node has pipes with names of its own, unless Options.PlainPipes asks for those that drivers open.
//
// When a test fails, its log shows the last API calls, with the Windows functions of those that failed, and the node's
// disks, in at most 200 lines. The whole journal is kept in a file. A test that passes prints nothing.
package csiproxytest
