// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"net"
	"syscall"
)

// peerOf returns the process at the other end of a unix socket (SO_PEERCRED, unix(7)).
func peerOf(c *net.UnixConn) (peer Peer, process Process) {
	raw, err := c.SyscallConn()
	if err != nil {
		return Peer{}, nil
	}
	_ = raw.Control(func(fd uintptr) {
		credentials, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
		if err != nil {
			return
		}
		peer = Peer{PID: uint32(credentials.Pid), UID: new(int(credentials.Uid))}
		if peer.PID != 0 {
			process = hold(int(fd), peer.PID)
		}
	})
	return peer, process
}
