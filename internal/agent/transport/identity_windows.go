// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"net"
	"syscall"

	"golang.org/x/sys/windows"
)

// identified adds what the token of the process that opened the pipe says, its program and its container. The client's
// token could be had from the pipe itself (ImpersonateNamedPipeClient), but go-winio, with which drivers are built,
// opens pipes at SECURITY_ANONYMOUS, which forbids that.
//
// Process numbers are reused. The handle keeps the process's number from the moment when it is opened; what was read
// through it is the opener's if the process was there before this function began, still runs, and the pipe's other end
// is still open.
func identified(c net.Conn, peer Peer) Peer {
	pipe, ok := c.(syscall.Conn)
	if !ok || peer.PID == 0 {
		return peer
	}
	begin := now()
	// Wine's IsProcessInJob needs more than PROCESS_QUERY_LIMITED_INFORMATION; SYSTEM has it for all but protected
	// processes.
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_INFORMATION|windows.SYNCHRONIZE, false, peer.PID)
	if err != nil {
		return peer
	}
	defer func() { _ = windows.CloseHandle(process) }()
	read := peer
	if read.SID, read.Elevated, err = tokenOf(process); err != nil {
		return peer
	}
	read.Image = programOf(process)
	if read.Container, err = containerOf(process); err != nil {
		read.Container = ""
	}
	if !wasThere(process, begin) || !isOpen(pipe) {
		return peer
	}
	return read
}

// tokenOf returns the user of a process's primary token, and whether the token is elevated.
//
// https://learn.microsoft.com/windows/win32/api/securitybaseapi/nf-securitybaseapi-gettokeninformation
func tokenOf(process windows.Handle) (sid string, elevated bool, err error) {
	var token windows.Token
	if err := windows.OpenProcessToken(process, windows.TOKEN_QUERY, &token); err != nil {
		return "", false, err
	}
	defer func() { _ = token.Close() }()
	user, err := token.GetTokenUser()
	if err != nil {
		return "", false, err
	}
	return user.User.Sid.String(), token.IsElevated(), nil
}

// programOf returns the path of a process's program on this machine, "" if it has none.
//
// https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-queryfullprocessimagenamew
func programOf(process windows.Handle) string {
	// The longest path takes 64 KiB, more than all else that a new connection costs.
	for _, size := range []uint32{windows.MAX_PATH, windows.MAX_LONG_PATH} {
		path := make([]uint16, size)
		if err := windows.QueryFullProcessImageName(process, 0, &path[0], &size); err == nil {
			return windows.UTF16ToString(path[:size])
		}
	}
	return ""
}

// now returns the precise time. Go's clock is that of the last tick, up to 16 ms ago, and a client connects sooner
// after its creation than that.
//
// https://learn.microsoft.com/windows/win32/api/sysinfoapi/nf-sysinfoapi-getsystemtimepreciseasfiletime
func now() (t windows.Filetime) {
	windows.GetSystemTimePreciseAsFileTime(&t)
	return t
}

// wasThere reports whether a process began before that time and has not ended.
func wasThere(process windows.Handle, at windows.Filetime) bool {
	var created, exited, inKernel, inUser windows.Filetime
	if err := windows.GetProcessTimes(process, &created, &exited, &inKernel, &inUser); err != nil {
		return false
	}
	state, err := windows.WaitForSingleObject(process, 0)
	return err == nil && state == uint32(windows.WAIT_TIMEOUT) && created.Nanoseconds() <= at.Nanoseconds()
}

// isOpen reports whether the other end of a pipe is open.
//
// https://learn.microsoft.com/windows/win32/api/namedpipeapi/nf-namedpipeapi-peeknamedpipe
func isOpen(pipe syscall.Conn) bool {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return false
	}
	open := false
	err = raw.Control(func(h uintptr) { open = peekNamedPipe(windows.Handle(h)) == nil })
	return err == nil && open
}
