// SPDX-License-Identifier: Apache-2.0

package winservice

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// Agents returns the services that run a CSI Proxy: by their configuration, or as their process or a child of it.
func (m scm) Agents() (agents []Agent, err error) {
	processes, err := agentProcesses()
	if err != nil {
		return nil, err
	}
	err = m.each(func(s Installed) {
		agent, found := agentOf(s.Name, s.Command, application(s.Name))
		if program, runs := processes[s.PID]; runs && !found && len(s.Command) > 0 {
			agent, found = Agent{Name: s.Name, Program: program, Wrapper: s.Command[0]}, true
		}
		if found {
			agents = append(agents, agent)
		}
	})
	return agents, err
}

// Own returns the name of the service whose process is this one or, under a wrapper such as nssm, its parent; "": none.
func Own() (name string) {
	m, err := connect()
	if err != nil {
		return ""
	}
	defer func() { _ = m.Close() }()
	self, parent := uint32(os.Getpid()), uint32(os.Getppid())
	_ = m.each(func(s Installed) {
		if s.PID != 0 && (s.PID == self || s.PID == parent && olderThan(parent, self)) {
			name = s.Name
		}
	})
	return name
}

// each calls a function for each service, but those that this user may not see.
func (m scm) each(look func(Installed)) error {
	names, err := m.ListServices()
	for _, name := range names {
		if s, err := m.Query(name); err == nil {
			look(s)
		}
	}
	return explain("EnumServicesStatusEx", "", err)
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

// olderThan reports whether a process began before another: an ended parent's id may be another process's since.
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
