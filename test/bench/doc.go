// SPDX-License-Identifier: Apache-2.0

// Command bench measures what the agent adds to a gRPC call. It runs the real csi-proxy on emulated nodes with few and
// with many disks, and beside them a bare gRPC server that echoes messages of the same size, each a process of its own
// behind unix sockets. It calls them in turns, a few milliseconds each, so that whatever else the machine does falls on
// all of them alike, and reports ratios.
package main
