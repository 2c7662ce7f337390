// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// peerOf returns the process at the other end of a connected instance.
//
// https://learn.microsoft.com/windows/win32/api/namedpipeapi/nf-namedpipeapi-getnamedpipeclientprocessid
func peerOf(h windows.Handle) (Peer, Process) {
	var pid uint32
	if err := windows.GetNamedPipeClientProcessId(h, &pid); err != nil {
		return Peer{}, nil
	}
	process := hold(pid) // first: the rest then belongs to the same process
	return Peer{PID: pid, Image: imageOf(pid)}, process
}

// imageOf returns the path of a process's program, "" if it is not available.
func imageOf(pid uint32) string {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	if err != nil {
		return ""
	}
	defer func() { _ = windows.CloseHandle(process) }()
	// A program in a container's volume may have no Win32 path.
	for _, form := range []uint32{0, windows.PROCESS_NAME_NATIVE} {
		for _, size := range []uint32{windows.MAX_PATH, windows.MAX_LONG_PATH} {
			image := make([]uint16, size)
			if err := windows.QueryFullProcessImageName(process, form, &image[0], &size); err == nil {
				return windows.UTF16ToString(image[:size])
			}
		}
	}
	return ""
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

// ServerOf returns the process that serves a pipe. One of which all instances are taken has one again in a moment.
//
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
	return Peer{PID: pid, Image: imageOf(pid)}, nil
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
