// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net"
	"syscall"
)

// peerAddr names the process at the other end of a unix socket (SO_PEERCRED, unix(7)).
func peerAddr(c net.Conn) net.Addr {
	socket, ok := c.(*net.UnixConn)
	if !ok {
		return c.RemoteAddr()
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return c.RemoteAddr()
	}
	var credentials *syscall.Ucred
	if ctrl := raw.Control(func(fd uintptr) {
		credentials, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); ctrl != nil || err != nil {
		return c.RemoteAddr()
	}
	return processAddr(fmt.Sprintf("pid %d uid %d", credentials.Pid, credentials.Uid))
}

// processAddr is the address of a client of this machine.
type processAddr string

func (processAddr) Network() string  { return "process" }
func (a processAddr) String() string { return string(a) }
