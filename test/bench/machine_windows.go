// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/client/versions"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
)

const agentFile = "csi-proxy.exe"

// agentOf returns the agent of this machine.
func agentOf(file, name, _ string) program { return program{name: name, command: []string{file}} }

// makePlugins makes the directory that is asked for, and returns what takes away again what was not there.
func makePlugins() (undo func(), err error) {
	var made []string
	for dir := plugins; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil {
			break
		}
		made = append(made, dir)
	}
	return func() {
		for _, dir := range made {
			_ = os.Remove(dir) // or something else is in it by now
		}
	}, os.MkdirAll(plugins, 0o750)
}

// pipe is the echo's.
const pipe = "csi-proxy-bench-echo"

func echoAddress(string) string { return `\\.\pipe\` + pipe }

// listen opens the pipe as the agent opens its own, so that the difference between the two is not one of pipes.
func listen(string) (net.Listener, error) {
	place, err := transport.Open(transport.Options{OwnUser: true})
	if err != nil {
		return nil, err
	}
	return place.Listen(pipe, false)
}

// system names Wine, or the build of Windows.
func system() string {
	if p := windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version"); p.Find() == nil {
		text, _, _ := p.Call()
		// a C string that lives as long as the process
		return "Wine " + windows.BytePtrToString(*(**byte)(unsafe.Pointer(&text)))
	}
	major, minor, build := windows.RtlGetNtVersionNumbers()
	return fmt.Sprintf("Windows %d.%d.%d", major, minor, build)
}

// takesConnections reports whether a pipe is there. It connects, because an agent may make the pipe before it serves
// it.
func takesConnections(address string) bool {
	path, err := windows.UTF16PtrFromString(address)
	if err != nil {
		return false
	}
	h, err := windows.CreateFile(path, windows.GENERIC_READ|windows.GENERIC_WRITE, 0, nil, windows.OPEN_EXISTING, 0, 0)
	if err == nil {
		_ = windows.CloseHandle(h)
	}
	return err == nil
}

// onlyServer returns an error if a process other than this one serves a pipe of agents: another agent has come, and
// would be called.
func onlyServer(ctx context.Context, pid int) error {
	for _, g := range versions.Groups() {
		for _, v := range append(g.Versions(), g.Hub) {
			server, err := transport.ServerOf(ctx, `\\.\pipe\csi-proxy-`+g.Name+"-"+v)
			if err == nil && int(server.PID) != pid {
				return fmt.Errorf("another agent, %v, serves %s %s", server, g.Name, v)
			}
		}
	}
	return nil
}

// memoryOf returns the working set of a process in MiB.
//
// BOOL GetProcessMemoryInfo(HANDLE Process, PPROCESS_MEMORY_COUNTERS ppsmemCounters, DWORD cb);
// https://learn.microsoft.com/windows/win32/api/psapi/nf-psapi-getprocessmemoryinfo
func memoryOf(pid int) (mib float64, err error) {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_INFORMATION|windows.PROCESS_VM_READ, false, uint32(pid))
	if err != nil {
		return 0, err
	}
	defer func() { _ = windows.CloseHandle(process) }()
	var counters struct { // PROCESS_MEMORY_COUNTERS
		size, pageFaults             uint32
		peakWorkingSet, workingSet   uintptr
		pools                        [4]uintptr
		pagefileUsage, peakPageUsage uintptr
	}
	counters.size = uint32(unsafe.Sizeof(counters))
	ok, _, err := windows.NewLazySystemDLL("psapi.dll").NewProc("GetProcessMemoryInfo").Call(
		uintptr(process), uintptr(unsafe.Pointer(&counters)), uintptr(counters.size))
	if ok == 0 {
		return 0, fmt.Errorf("GetProcessMemoryInfo: %w", err)
	}
	return float64(counters.workingSet) / (1 << 20), nil
}
