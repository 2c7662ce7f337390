// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/transport"
)

// system names Wine, or the build of Windows.
func system() (string, error) {
	if p := windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version"); p.Find() == nil {
		text, _, _ := p.Call()
		return "Wine " + windows.BytePtrToString(*(**byte)(unsafe.Pointer(&text))), nil // a C string that lives as long as the process
	}
	major, minor, build := windows.RtlGetNtVersionNumbers()
	return fmt.Sprintf("Windows %d.%d.%d", major, minor, build), nil
}

// isOpen tells whether a client can open a pipe.
//
// BOOL WaitNamedPipeW(LPCWSTR lpNamedPipeName, DWORD nTimeOut);
// https://learn.microsoft.com/windows/win32/api/namedpipeapi/nf-namedpipeapi-waitnamedpipew
func isOpen(name string) error {
	text, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return err
	}
	const patience = 1000 // ms, when the pipe is there and all its instances are taken
	ok, _, err := windows.NewLazySystemDLL("kernel32.dll").NewProc("WaitNamedPipeW").Call(uintptr(unsafe.Pointer(text)), patience)
	if ok == 0 {
		return fmt.Errorf("%s is not open: %w", name, err)
	}
	return nil
}

// memoryOf asks how much memory a process holds.
//
// BOOL GetProcessMemoryInfo(HANDLE Process, PPROCESS_MEMORY_COUNTERS ppsmemCounters, DWORD cb);
// https://learn.microsoft.com/windows/win32/api/psapi/nf-psapi-getprocessmemoryinfo
func memoryOf(pid int) (memory, error) {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_INFORMATION|windows.PROCESS_VM_READ, false, uint32(pid))
	if err != nil {
		return memory{}, err
	}
	defer func() { _ = windows.CloseHandle(process) }()
	// PROCESS_MEMORY_COUNTERS_EX
	var counters struct {
		size, pageFaults                            uint32
		peakWorkingSet, workingSet                  uintptr
		peakPaged, paged, peakNonPaged, nonPaged    uintptr
		pagefileUsage, peakPagefileUsage, privately uintptr
	}
	counters.size = uint32(unsafe.Sizeof(counters))
	ok, _, err := windows.NewLazySystemDLL("psapi.dll").NewProc("GetProcessMemoryInfo").Call(
		uintptr(process), uintptr(unsafe.Pointer(&counters)), uintptr(counters.size))
	if ok == 0 {
		return memory{}, fmt.Errorf("GetProcessMemoryInfo: %w", err)
	}
	return memory{workingSet: uint64(counters.workingSet), private: uint64(counters.privately)}, nil
}

// listen opens a pipe as the agent does, so that the transport is the same.
func listen(name string) (net.Listener, error) {
	place, err := transport.Open(transport.Options{OwnUser: true})
	if err != nil {
		return nil, err
	}
	return place.Listen(strings.TrimPrefix(name, `\\.\pipe\`), false)
}
