// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// peerOf returns the process that opened the other end of a pipe. ImpersonateNamedPipeClient would give the client's
// token, but drivers' go-winio opens pipes at SECURITY_ANONYMOUS, which forbids that.
// https://learn.microsoft.com/windows/win32/api/namedpipeapi/nf-namedpipeapi-getnamedpipeclientprocessid
func peerOf(pipe windows.Handle) (Peer, Process) {
	var pid uint32
	if err := windows.GetNamedPipeClientProcessId(pipe, &pid); err != nil {
		return Peer{}, nil
	}
	return look(pipe, pid)
}

// look opens the process that opened a pipe, and reads what it is.
//
// Process numbers are reused. The handle keeps the process's number from the moment when it is opened. The process is
// the pipe's opener if it began before this function did, still runs, and the pipe's other end is still open.
// https://devblogs.microsoft.com/oldnewthing/20110107-00/?p=11803
func look(pipe windows.Handle, pid uint32) (Peer, Process) {
	begin := now()
	process, err := openProcess(pid)
	switch {
	case errors.Is(err, windows.ERROR_INVALID_PARAMETER): // no process has the number
		return Peer{PID: pid}, ended{}
	case err != nil:
		return Peer{PID: pid}, nil
	}
	peer := Peer{PID: pid, Image: process.image()}
	identity := Identity{}
	if identity.SID, identity.Elevated, err = process.token(); err == nil {
		identity.Container, _ = containerOf(windows.Handle(process)) // empty with an error
		if process.wasThere(begin) && peekNamedPipe(pipe, nil, 0, nil, nil, nil) == nil {
			peer.Identity = identity
		}
	}
	return peer, process
}

// processHandle is an open handle of a process.
type processHandle windows.Handle

// openProcess opens a process to ask about it. Wine needs PROCESS_QUERY_INFORMATION, which protected processes refuse.
func openProcess(pid uint32) (processHandle, error) {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_INFORMATION|windows.SYNCHRONIZE, false, pid)
	if errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		h, err = windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.SYNCHRONIZE, false, pid)
	}
	return processHandle(h), err
}

// Ended implements Process.
func (p processHandle) Ended() bool {
	event, err := windows.WaitForSingleObject(windows.Handle(p), 0)
	return event == windows.WAIT_OBJECT_0 && err == nil
}

// Close implements Process.
func (p processHandle) Close() error { return windows.CloseHandle(windows.Handle(p)) }

// image returns the path of the process's program, "" if it is not available.
// https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-queryfullprocessimagenamew
func (p processHandle) image() string {
	// A program in a container's volume may have no Win32 path.
	for _, form := range []uint32{0, windows.PROCESS_NAME_NATIVE} {
		// The longest path takes 64 KiB, more than all else that a new connection costs.
		for _, size := range []uint32{windows.MAX_PATH, windows.MAX_LONG_PATH} {
			image := make([]uint16, size)
			if err := windows.QueryFullProcessImageName(windows.Handle(p), form, &image[0], &size); err == nil {
				return windows.UTF16ToString(image[:size])
			}
		}
	}
	return ""
}

// token returns the user of the process's primary token, and whether the token is elevated.
// https://learn.microsoft.com/windows/win32/api/securitybaseapi/nf-securitybaseapi-gettokeninformation
func (p processHandle) token() (sid string, elevated bool, err error) {
	var token windows.Token
	if err := windows.OpenProcessToken(windows.Handle(p), windows.TOKEN_QUERY, &token); err != nil {
		return "", false, err
	}
	defer func() { _ = token.Close() }()
	user, err := token.GetTokenUser()
	if err != nil {
		return "", false, err
	}
	return user.User.Sid.String(), token.IsElevated(), nil
}

// now returns the precise time. Go's clock is up to 16 ms late, and a client connects sooner after its creation.
// https://learn.microsoft.com/windows/win32/api/sysinfoapi/nf-sysinfoapi-getsystemtimepreciseasfiletime
func now() (t windows.Filetime) {
	windows.GetSystemTimePreciseAsFileTime(&t)
	return t
}

// wasThere reports whether the process began before that time and has not ended.
func (p processHandle) wasThere(at windows.Filetime) bool {
	var created, exited, inKernel, inUser windows.Filetime
	err := windows.GetProcessTimes(windows.Handle(p), &created, &exited, &inKernel, &inUser)
	return err == nil && !p.Ended() && created.Nanoseconds() <= at.Nanoseconds()
}

// holder describes the process that serves an existing pipe, as far as it can be found out.
func holder(path string) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	server, err := ServerOf(ctx, path)
	if err != nil {
		return "it exists already: another csi-proxy, or a program that took its name, serves it"
	}
	return "it exists already, served by " + server.String() + "; two agents cannot serve one node"
}

// ServerOf returns the process that serves a pipe. It retries while all instances are busy.
// https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-getnamedpipeserverprocessid
func ServerOf(ctx context.Context, path string) (Peer, error) {
	h, err := openAnonymously(path)
	for errors.Is(err, windows.ERROR_PIPE_BUSY) {
		select {
		case <-ctx.Done():
			return Peer{}, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
		h, err = openAnonymously(path)
	}
	if err != nil {
		return Peer{}, &os.PathError{Op: "CreateFile", Path: path, Err: err}
	}
	defer func() { _ = windows.CloseHandle(h) }()
	var pid uint32
	if err := windows.GetNamedPipeServerProcessId(h, &pid); err != nil {
		return Peer{}, os.NewSyscallError("GetNamedPipeServerProcessId", err)
	}
	server := Peer{PID: pid}
	if p, err := openProcess(pid); err == nil {
		server.Image = p.image()
		_ = p.Close()
	}
	return server, nil
}

// openAnonymously opens a client's end of a pipe in such a way that the pipe's server cannot impersonate this process.
func openAnonymously(path string) (windows.Handle, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	return windows.CreateFile(name, windows.GENERIC_READ, 0, nil, windows.OPEN_EXISTING,
		windows.SECURITY_SQOS_PRESENT|windows.SECURITY_ANONYMOUS, 0)
}
