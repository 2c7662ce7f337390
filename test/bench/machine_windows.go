// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"unsafe"

	"golang.org/x/sys/windows"

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
		return "Wine " + windows.BytePtrToString(*(**byte)(unsafe.Pointer(&text))) // a C string that lives as long as the process
	}
	major, minor, build := windows.RtlGetNtVersionNumbers()
	return fmt.Sprintf("Windows %d.%d.%d", major, minor, build)
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
