// SPDX-License-Identifier: Apache-2.0

package winservice

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// scm is a handle of the Service Control Manager's database. Each method opens the service with the rights it needs.
type scm struct{ handle windows.Handle }

// Connect calls OpenSCManagerW.
func Connect() (Manager, error) {
	m, err := connect()
	if err != nil {
		return nil, err
	}
	return m, nil
}

// connect asks for the rights that every local user has.
// https://learn.microsoft.com/windows/win32/services/service-security-and-access-rights
func connect() (scm, error) {
	handle, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT|windows.SC_MANAGER_ENUMERATE_SERVICE)
	return scm{handle}, explain("OpenSCManager", "", err)
}

// Close calls CloseServiceHandle.
func (m scm) Close() error { return windows.CloseServiceHandle(m.handle) }

// with opens a service for one call.
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-openservicew
func (m scm) with(name string, access uint32, call func(windows.Handle) error) error {
	wide, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return explain("OpenService", name, err)
	}
	service, err := windows.OpenService(m.handle, wide, access)
	if err != nil {
		return explain("OpenService", name, err)
	}
	defer func() { _ = windows.CloseServiceHandle(service) }()
	return call(service)
}

// Create calls CreateServiceW and sets what that cannot. A service that cannot be set up is deleted again.
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-createservicew
func (m scm) Create(d Definition) error {
	maker, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT|windows.SC_MANAGER_CREATE_SERVICE)
	if err != nil {
		return explain("OpenSCManager", d.Name, err)
	}
	defer func() { _ = windows.CloseServiceHandle(maker) }()
	var text wideStrings
	name, display, command, account := text.add(d.Name), text.add(d.DisplayName),
		text.add(windows.ComposeCommandLine(d.Command)), text.add(d.Account)
	if text.err != nil {
		return explain("CreateService", d.Name, text.err)
	}
	service, err := windows.CreateService(maker, name, display, windows.SERVICE_ALL_ACCESS,
		windows.SERVICE_WIN32_OWN_PROCESS,
		uint32(d.Start), windows.SERVICE_ERROR_NORMAL, command, nil, nil, nil, account, nil)
	if err != nil {
		return explain("CreateService", d.Name, err)
	}
	defer func() { _ = windows.CloseServiceHandle(service) }()
	if err := configure(service, d); err != nil {
		return errors.Join(err, windows.DeleteService(service))
	}
	return nil
}

// Update calls ChangeServiceConfigW and sets what that cannot.
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-changeserviceconfigw
func (m scm) Update(d Definition) error {
	// SERVICE_START is required to set a restart after failures.
	return m.with(d.Name, windows.SERVICE_CHANGE_CONFIG|windows.SERVICE_START, func(service windows.Handle) error {
		var text wideStrings
		display, command, account, password := text.add(d.DisplayName), text.add(windows.ComposeCommandLine(d.Command)),
			text.add(d.Account), text.add("")
		if text.err != nil {
			return explain("ChangeServiceConfig", d.Name, text.err)
		}
		err := windows.ChangeServiceConfig(service, windows.SERVICE_WIN32_OWN_PROCESS, uint32(d.Start),
			windows.SERVICE_ERROR_NORMAL,
			command, nil, nil, nil, account, password, display)
		if err != nil {
			return explain("ChangeServiceConfig", d.Name, err)
		}
		return configure(service, d)
	})
}

// Start calls StartServiceW. A service that runs already is success.
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-startservicew
func (m scm) Start(name string) error {
	return m.with(name, windows.SERVICE_START, func(service windows.Handle) error {
		err := windows.StartService(service, 0, nil)
		if errors.Is(err, windows.ERROR_SERVICE_ALREADY_RUNNING) {
			return nil
		}
		return explain("StartService", name, err)
	})
}

// Stop calls ControlService with SERVICE_CONTROL_STOP. A service that does not run is success.
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-controlservice
func (m scm) Stop(name string) error {
	return m.with(name, windows.SERVICE_STOP, func(service windows.Handle) error {
		var status windows.SERVICE_STATUS
		err := windows.ControlService(service, windows.SERVICE_CONTROL_STOP, &status)
		if errors.Is(err, windows.ERROR_SERVICE_NOT_ACTIVE) {
			return nil
		}
		return explain("ControlService", name, err)
	})
}

// Delete calls DeleteService. A service that is already marked for deletion is success.
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-deleteservice
func (m scm) Delete(name string) error {
	return m.with(name, windows.DELETE, func(service windows.Handle) error {
		err := windows.DeleteService(service)
		if errors.Is(err, windows.ERROR_SERVICE_MARKED_FOR_DELETE) {
			return nil
		}
		return explain("DeleteService", name, err)
	})
}

// explain adds the function's name to an error, and advice for its code; nil stays nil.
func explain(function, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, windows.ERROR_SERVICE_DOES_NOT_EXIST):
		return ErrNotInstalled
	case errors.Is(err, windows.ERROR_ACCESS_DENIED):
		return fmt.Errorf("%s %s: %w: run this as an administrator", function, name, err)
	case errors.Is(err, windows.ERROR_SERVICE_MARKED_FOR_DELETE):
		return fmt.Errorf("%s %s: %w: close the programs that show it, such as services.msc, or restart Windows", function,
			name, err)
	}
	return fmt.Errorf("%s %s: %w", function, name, err)
}

// wideStrings keeps the first error of several conversions.
type wideStrings struct{ err error }

func (w *wideStrings) add(s string) *uint16 {
	p, err := windows.UTF16PtrFromString(s)
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("%q: %w", s, err)
	}
	return p
}

// bytesOf returns a structure as ChangeServiceConfig2W takes it.
func bytesOf[T any](info *T) *byte { return (*byte)(unsafe.Pointer(info)) }
