// SPDX-License-Identifier: Apache-2.0

package winservice

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// Agents returns the services that run a CSI Proxy: by their configuration, or because csi-proxy.exe is the service's
// process or a child of it.
func (m scm) Agents() (agents []Agent, err error) {
	services, err := m.services()
	if err != nil {
		return nil, err
	}
	processes, err := agentProcesses()
	if err != nil {
		return nil, err
	}
	for _, s := range services {
		command, err := m.command(s.name)
		if err != nil {
			continue // it has gone, or this user may not see it
		}
		agent, found := agentOf(s.name, command, application(s.name))
		if program, runs := processes[s.pid]; runs && !found && len(command) > 0 {
			agent, found = Agent{Name: s.name, Program: program, Wrapper: command[0]}, true
		}
		if found {
			agents = append(agents, agent)
		}
	}
	return agents, nil
}

// Own returns the name of the service that this process works for: the service's process is this one or, under a
// wrapper such as nssm, its parent. It returns "" if there is none.
func Own() string {
	m, err := connect()
	if err != nil {
		return ""
	}
	defer func() { _ = m.Close() }()
	services, _ := m.services()
	self, parent := uint32(os.Getpid()), uint32(os.Getppid())
	for _, s := range services {
		if s.pid != 0 && (s.pid == self || s.pid == parent && olderThan(parent, self)) {
			return s.name
		}
	}
	return ""
}

// A serviceProcess is a service and its process; 0: it does not run.
type serviceProcess struct {
	name string
	pid  uint32
}

// services calls EnumServicesStatusExW.
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-enumservicesstatusexw
func (m scm) services() (list []serviceProcess, err error) {
	buffer := make([]uint64, 32<<10) // of the longest answer that one call gives, 256 KiB
	for resume := uint32(0); ; {
		var needed, count uint32
		err := windows.EnumServicesStatusEx(m.handle, windows.SC_ENUM_PROCESS_INFO, windows.SERVICE_WIN32,
			windows.SERVICE_STATE_ALL, (*byte)(unsafe.Pointer(&buffer[0])), uint32(len(buffer)*8), &needed, &count, &resume, nil)
		if err != nil && !errors.Is(err, windows.ERROR_MORE_DATA) {
			return nil, explain("EnumServicesStatusEx", "", err)
		}
		for _, s := range unsafe.Slice((*windows.ENUM_SERVICE_STATUS_PROCESS)(unsafe.Pointer(&buffer[0])), count) {
			list = append(list, serviceProcess{windows.UTF16PtrToString(s.ServiceName), s.ServiceStatusProcess.ProcessId})
		}
		if err == nil || count == 0 {
			return list, nil
		}
	}
}

// application returns what nssm starts for a service.
func application(name string) string {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, `SYSTEM\CurrentControlSet\Services\`+name+`\Parameters`,
		registry.QUERY_VALUE)
	if err != nil {
		return ""
	}
	defer func() { _ = key.Close() }()
	path, _, _ := key.GetStringValue("Application")
	return path
}

// agentProcesses returns the names of the programs of running agents, by the ids of their processes and their parents'.
// https://learn.microsoft.com/windows/win32/api/tlhelp32/nf-tlhelp32-createtoolhelp32snapshot
func agentProcesses() (map[uint32]string, error) {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil, explain("CreateToolhelp32Snapshot", "", err)
	}
	defer func() { _ = windows.CloseHandle(snapshot) }()
	programs := map[uint32]string{}
	p := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(snapshot, &p); err == nil; err = windows.Process32Next(snapshot, &p) {
		program := windows.UTF16ToString(p.ExeFile[:])
		if !isAgent(program) {
			continue
		}
		programs[p.ProcessID] = program
		if olderThan(p.ParentProcessID, p.ProcessID) {
			programs[p.ParentProcessID] = program
		}
	}
	return programs, nil
}

// olderThan reports whether a process began before another one: the id of a parent that has ended may be another
// process's since.
// https://learn.microsoft.com/windows/win32/api/processthreadsapi/nf-processthreadsapi-getprocesstimes
func olderThan(parent, child uint32) bool {
	began := func(pid uint32) (int64, error) {
		process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
		if err != nil {
			return 0, err
		}
		defer func() { _ = windows.CloseHandle(process) }()
		var creation, exit, kernel, user windows.Filetime
		err = windows.GetProcessTimes(process, &creation, &exit, &kernel, &user)
		return creation.Nanoseconds(), err
	}
	first, err := began(parent)
	second, err2 := began(child)
	return err == nil && err2 == nil && first <= second
}
