// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package transport

// OwnContainer returns NoContainer: on Windows the agent is a process of the node itself, in a HostProcess container as well.
func OwnContainer() string { return NoContainer }
