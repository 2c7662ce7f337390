// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"net"
	"syscall"
)

// peerOf returns the process at the other end of a unix socket (SO_PEERCRED, unix(7)).
func peerOf(c *net.UnixConn) Peer {
	raw, err := c.SyscallConn()
	if err != nil {
		return Peer{}
	}
	var credentials *syscall.Ucred
	if ctrl := raw.Control(func(fd uintptr) {
		credentials, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); ctrl != nil || err != nil {
		return Peer{}
	}
	return Peer{PID: uint32(credentials.Pid), UID: new(int(credentials.Uid)), Identity: identityOf(c, credentials.Pid)}
}
