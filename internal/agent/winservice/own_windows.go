// SPDX-License-Identifier: Apache-2.0

package winservice

import (
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Own returns the name of the service whose process is this one or, under a wrapper such as nssm, its parent; "": none.
func Own() string {
	m, err := connect()
	if err != nil {
		return ""
	}
	defer func() { _ = m.Close() }()
	names, _ := m.ListServices() // those that this user may see
	for _, name := range names {
		s, err := m.Query(name)
		if err == nil && s.PID != 0 && (int(s.PID) == os.Getpid() || int(s.PID) == os.Getppid()) {
			return name
		}
	}
	return ""
}

// Started reports whether the Service Control Manager, services.exe, started this process. svc.IsWindowsService asks
// for session 0 as well, where Wine's is not. Any process could try the dispatcher, but that may be taken for a service
// that is starting elsewhere.
func Started() bool {
	all, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return false
	}
	defer func() { _ = windows.CloseHandle(all) }()
	parent := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(all, &parent); err == nil; err = windows.Process32Next(all, &parent) {
		if parent.ProcessID == uint32(os.Getppid()) {
			return strings.EqualFold(windows.UTF16ToString(parent.ExeFile[:]), "services.exe")
		}
	}
	return false
}
