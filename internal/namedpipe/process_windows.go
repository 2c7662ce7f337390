// SPDX-License-Identifier: Apache-2.0

package namedpipe

import (
	"fmt"
	"net"

	"golang.org/x/sys/windows"
)

// clientAddr names a client process.
type clientAddr string

func (clientAddr) Network() string  { return "process" }
func (a clientAddr) String() string { return string(a) }

var _ net.Addr = clientAddr("")

// clientOf names the process at the other end of a connected instance. It is for people: the process may be gone, and
// its number taken by another, by the time that somebody reads it.
//
// https://learn.microsoft.com/windows/win32/api/namedpipeapi/nf-namedpipeapi-getnamedpipeclientprocessid
func clientOf(h windows.Handle) clientAddr {
	var pid uint32
	if err := windows.GetNamedPipeClientProcessId(h, &pid); err != nil {
		return "unknown process"
	}
	return clientAddr(processName(pid))
}

// processName is a process number, and the path of its program where that can be had.
func processName(pid uint32) string {
	name := fmt.Sprintf("pid %d", pid)
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	if err != nil {
		return name
	}
	defer func() { _ = windows.CloseHandle(process) }()
	// A program in a container's volume may have no path of Win32's.
	for _, form := range []uint32{0, windows.PROCESS_NAME_NATIVE} {
		for _, size := range []uint32{windows.MAX_PATH, windows.MAX_LONG_PATH} {
			image := make([]uint16, size)
			if err := windows.QueryFullProcessImageName(process, form, &image[0], &size); err == nil {
				return name + " " + windows.UTF16ToString(image[:size])
			}
		}
	}
	return name
}

// holder says who serves a pipe that exists already, as far as it can be found out.
//
// https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-getnamedpipeserverprocessid
func holder(path string) string {
	const unknown = "it exists already: another csi-proxy, or a program that took its name, serves it"
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return unknown
	}
	// Anonymous, or whoever holds the pipe could act as this process.
	h, err := windows.CreateFile(name, windows.GENERIC_READ, 0, nil, windows.OPEN_EXISTING,
		windows.SECURITY_SQOS_PRESENT|windows.SECURITY_ANONYMOUS, 0)
	if err != nil {
		return unknown
	}
	defer func() { _ = windows.CloseHandle(h) }()
	var pid uint32
	if err := windows.GetNamedPipeServerProcessId(h, &pid); err != nil {
		return unknown
	}
	return "it exists already, served by " + processName(pid) + "; two agents cannot serve one node"
}
