// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/client/versions"
	"github.com/kubernetes-csi/csi-proxy/internal/transport"
)

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
func takesConnections(_, name string) bool {
	path, err := windows.UTF16PtrFromString(`\\.\pipe\` + name)
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

// countsOf returns how many threads and handles a process has.
//
// BOOL GetProcessHandleCount(HANDLE hProcess, PDWORD pdwHandleCount);
// https://learn.microsoft.com/windows/win32/api/processthreadsapi/nf-processthreadsapi-getprocesshandlecount
func countsOf(pid int) (threads, handles int, err error) {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_INFORMATION, false, uint32(pid))
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = windows.CloseHandle(process) }()
	var count uint32
	ok, _, err := windows.NewLazySystemDLL("kernel32.dll").NewProc("GetProcessHandleCount").Call(uintptr(process),
		uintptr(unsafe.Pointer(&count)))
	if ok == 0 {
		return 0, 0, fmt.Errorf("GetProcessHandleCount: %w", err)
	}
	all, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = windows.CloseHandle(all) }()
	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(all, &entry); err == nil; err = windows.Process32Next(all, &entry) {
		if entry.ProcessID == uint32(pid) {
			return int(entry.Threads), int(count), nil
		}
	}
	return 0, 0, err
}

// memoryOf returns the working set of a process, now and at its peak, in MiB.
//
// BOOL GetProcessMemoryInfo(HANDLE Process, PPROCESS_MEMORY_COUNTERS ppsmemCounters, DWORD cb);
// https://learn.microsoft.com/windows/win32/api/psapi/nf-psapi-getprocessmemoryinfo
func memoryOf(pid int) (now, peak float64, err error) {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_INFORMATION|windows.PROCESS_VM_READ, false, uint32(pid))
	if err != nil {
		return 0, 0, err
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
		return 0, 0, fmt.Errorf("GetProcessMemoryInfo: %w", err)
	}
	return float64(counters.workingSet) / (1 << 20), float64(counters.peakWorkingSet) / (1 << 20), nil
}
