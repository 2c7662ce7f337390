// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package transport

// OwnContainer returns NoContainer: on Windows, the agent's is a process of the node itself, and a HostProcess container,
// which is no other, has one process.
func OwnContainer() string { return NoContainer }
