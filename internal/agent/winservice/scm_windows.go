// SPDX-License-Identifier: Apache-2.0

package winservice

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
	"golang.org/x/sys/windows/svc/eventlog"
	"golang.org/x/sys/windows/svc/mgr"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// scm is the Service Control Manager. Each method opens the service with the rights that it needs.
//
// Wine answers ERROR_INVALID_LEVEL for settings that it does not have, and so do mgr's Config and UpdateConfig.
type scm struct{ mgr.Mgr }

// Connect opens the Service Control Manager with the rights that every local user has.
// https://learn.microsoft.com/windows/win32/services/service-security-and-access-rights
func Connect() (Manager, error) { return connect() }

func connect() (*scm, error) {
	handle, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT|windows.SC_MANAGER_ENUMERATE_SERVICE)
	return &scm{mgr.Mgr{Handle: handle}}, explain("OpenSCManager", "", err)
}

// Close closes the Service Control Manager.
func (m scm) Close() error { return m.Disconnect() }

// with opens a service and calls a function of Windows that may also fail with done, which is success.
func (m scm) with(name, function string, access uint32, done error, call func(*mgr.Service) error) error {
	wide, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return explain("OpenService", name, err)
	}
	handle, err := windows.OpenService(m.Handle, wide, access)
	if err != nil {
		return explain("OpenService", name, err)
	}
	s := &mgr.Service{Name: name, Handle: handle}
	defer func() { _ = s.Close() }()
	if err := call(s); !errors.Is(err, done) {
		return explain(function, name, err)
	}
	return nil
}

// Create creates a service. One that cannot be set up is deleted again.
func (m scm) Create(d Definition) error {
	maker, err := mgr.Connect()
	if err != nil {
		return explain("OpenSCManager", d.Name, err)
	}
	defer func() { _ = maker.Disconnect() }()
	s, err := maker.CreateService(d.Name, d.Command[0], mgr.Config{StartType: uint32(d.Start),
		ErrorControl: mgr.ErrorNormal, DisplayName: d.DisplayName, ServiceStartName: d.Account}, d.Command[1:]...)
	if err != nil {
		return explain("CreateService", d.Name, err)
	}
	defer func() { _ = s.Close() }()
	if err := configure(s, d); err != nil {
		return errors.Join(explain("ChangeServiceConfig2", d.Name, err), s.Delete())
	}
	return nil
}

// Update changes all settings of a service.
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-changeserviceconfigw
func (m scm) Update(d Definition) error {
	// SERVICE_START is required to set a restart after failures.
	access := uint32(windows.SERVICE_CHANGE_CONFIG | windows.SERVICE_START)
	return m.with(d.Name, "ChangeServiceConfig", access, nil, func(s *mgr.Service) (err error) {
		var text [4]*uint16
		const password = "" // LocalSystem's
		for i, t := range []string{windows.ComposeCommandLine(d.Command), d.Account, password, d.DisplayName} {
			if text[i], err = windows.UTF16PtrFromString(t); err != nil {
				return err
			}
		}
		err = windows.ChangeServiceConfig(s.Handle, windows.SERVICE_WIN32_OWN_PROCESS, uint32(d.Start),
			windows.SERVICE_ERROR_NORMAL, text[0], nil, nil, nil, text[1], text[2], text[3])
		if err != nil {
			return err
		}
		return configure(s, d)
	})
}

// configure sets what is not part of a service's basic configuration.
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-changeserviceconfig2w
func configure(s *mgr.Service, d Definition) error {
	text, err := windows.UTF16PtrFromString(d.Description)
	if err != nil {
		return err
	}
	description, delayed := windows.SERVICE_DESCRIPTION{Description: text}, windows.SERVICE_DELAYED_AUTO_START_INFO{}
	preShutdown := uint32(d.PreShutdown.Milliseconds()) // SERVICE_PRESHUTDOWN_INFO
	set := func(level uint32, info unsafe.Pointer) error {
		return windows.ChangeServiceConfig2(s.Handle, level, (*byte)(info))
	}
	errs := []error{
		set(windows.SERVICE_CONFIG_DESCRIPTION, unsafe.Pointer(&description)),
		set(windows.SERVICE_CONFIG_DELAYED_AUTO_START_INFO, unsafe.Pointer(&delayed)),
		set(windows.SERVICE_CONFIG_PRESHUTDOWN_INFO, unsafe.Pointer(&preShutdown)),
	}
	if r := d.Recovery; r != nil {
		var actions []mgr.RecoveryAction
		for _, delay := range r.Restart {
			actions = append(actions, mgr.RecoveryAction{Type: mgr.ServiceRestart, Delay: delay})
		}
		if actions == nil {
			actions = []mgr.RecoveryAction{{Type: mgr.NoAction}}
		}
		errs = append(errs, s.SetRecoveryActions(actions, uint32(r.Reset/time.Second)),
			s.SetRecoveryActionsOnNonCrashFailures(r.OnError))
	}
	for _, err := range errs {
		if err != nil && !errors.Is(err, windows.ERROR_INVALID_LEVEL) {
			return err
		}
	}
	return nil
}

// Query reads the settings of a service that an installation compares, and its state.
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-queryserviceconfigw
func (m scm) Query(name string) (found Installed, err error) {
	access := uint32(windows.SERVICE_QUERY_CONFIG | windows.SERVICE_QUERY_STATUS)
	err = m.with(name, "QueryServiceConfig", access, nil, func(s *mgr.Service) error {
		buffer := make([]uint64, (8<<10)/8) // of the longest answer
		config, needed := (*windows.QUERY_SERVICE_CONFIG)(unsafe.Pointer(&buffer[0])), uint32(0)
		if err := windows.QueryServiceConfig(s.Handle, config, uint32(len(buffer)*8), &needed); err != nil {
			return err
		}
		command, err := windows.DecomposeCommandLine(windows.UTF16PtrToString(config.BinaryPathName))
		if err != nil {
			return err
		}
		recovery, err := recoveryOf(s)
		if err != nil {
			return err
		}
		status, err := s.Query()
		found = Installed{Definition: Definition{Name: name, DisplayName: windows.UTF16PtrToString(config.DisplayName),
			Command: command, Start: win32.ServiceStart(config.StartType),
			Account: windows.UTF16PtrToString(config.ServiceStartName), Recovery: recovery},
			State: win32.ServiceState(status.State), PID: status.ProcessId,
			ExitCode: status.Win32ExitCode, SpecificExitCode: status.ServiceSpecificExitCode}
		return err
	})
	return found, err
}

// recoveryOf returns what Windows does when a service fails, nil if it cannot tell.
func recoveryOf(s *mgr.Service) (*Recovery, error) {
	actions, err := s.RecoveryActions()
	reset, errReset := s.ResetPeriod()
	onError, errFlag := s.RecoveryActionsOnNonCrashFailures()
	if err = errors.Join(err, errReset, errFlag); err != nil {
		if errors.Is(err, windows.ERROR_INVALID_LEVEL) {
			err = nil
		}
		return nil, err
	}
	r := &Recovery{Reset: time.Duration(reset) * time.Second, OnError: onError}
	for _, action := range actions {
		if action.Type == mgr.ServiceRestart {
			r.Restart = append(r.Restart, action.Delay)
		}
	}
	return r, nil
}

// Start starts a service. One that runs already is success.
func (m scm) Start(name string) error {
	return m.with(name, "StartService", windows.SERVICE_START, windows.ERROR_SERVICE_ALREADY_RUNNING,
		func(s *mgr.Service) error { return s.Start() })
}

// Stop asks a service to stop. One that does not run is success.
func (m scm) Stop(name string) error {
	return m.with(name, "ControlService", windows.SERVICE_STOP, windows.ERROR_SERVICE_NOT_ACTIVE,
		func(s *mgr.Service) error { _, err := s.Control(windows.SERVICE_CONTROL_STOP); return err })
}

// Delete deletes a service. One that is already marked for deletion is success.
func (m scm) Delete(name string) error {
	return m.with(name, "DeleteService", windows.DELETE, windows.ERROR_SERVICE_MARKED_FOR_DELETE, (*mgr.Service).Delete)
}

// RegisterEvents names EventCreate.exe, which every Windows has, as the source's message file.
func (m scm) RegisterEvents(source string) error {
	if err := m.RemoveEvents(source); err != nil { // the next call refuses one that exists
		return err
	}
	if err := eventlog.InstallAsEventCreate(source, eventlog.Info|eventlog.Warning|eventlog.Error); err != nil {
		return fmt.Errorf("event source %s: %w", source, err)
	}
	return nil
}

// RemoveEvents deletes the source's registry key.
func (scm) RemoveEvents(source string) error {
	if err := eventlog.Remove(source); err != nil && !errors.Is(err, registry.ErrNotExist) {
		return fmt.Errorf("event source %s: %w", source, err)
	}
	return nil
}

// explain adds the function's name to an error, and advice for its code; nil stays nil.
func explain(function, name string, err error) error {
	advice := ""
	switch {
	case err == nil:
		return nil
	case errors.Is(err, windows.ERROR_SERVICE_DOES_NOT_EXIST):
		return ErrNotInstalled
	case errors.Is(err, windows.ERROR_ACCESS_DENIED):
		advice = ": run this as an administrator"
	case errors.Is(err, windows.ERROR_SERVICE_MARKED_FOR_DELETE):
		advice = ": close the programs that show it, such as services.msc, or restart Windows"
	}
	return fmt.Errorf("%s %s: %w%s", function, name, err, advice)
}
