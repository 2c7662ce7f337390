// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package server

import "net"

// peerAddr is the address as the transport gives it.
func peerAddr(c net.Conn) net.Addr { return c.RemoteAddr() }
