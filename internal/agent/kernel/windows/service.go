// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/mgr"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// serviceQueryRights are the rights that a query needs; protected services refuse more even to LocalSystem.
const serviceQueryRights = windows.SERVICE_QUERY_CONFIG | windows.SERVICE_QUERY_STATUS

// QueryService calls QueryServiceConfigW and QueryServiceStatusEx.
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-queryserviceconfigw
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-queryservicestatusex
func (Kernel) QueryService(name string) (kernel.Service, error) {
	service, err := openService(name, serviceQueryRights)
	if err != nil {
		return kernel.Service{}, err
	}
	defer closeService(service)
	b, err := filled("QueryServiceConfigW", name, 1, func(n *uint32, buffer *byte) error {
		needed := *n
		err := windows.QueryServiceConfig(service, (*windows.QUERY_SERVICE_CONFIG)(unsafe.Pointer(buffer)), needed, &needed)
		if err != nil { // only then its page says that it counts
			*n = max(needed, *n+1)
		}
		return err
	})
	if err != nil {
		return kernel.Service{}, err
	}
	var status windows.SERVICE_STATUS_PROCESS
	size := uint32(unsafe.Sizeof(status))
	err = windows.QueryServiceStatusEx(service, windows.SC_STATUS_PROCESS_INFO,
		(*byte)(unsafe.Pointer(&status)), size, &size)
	if err != nil {
		return kernel.Service{}, failure("QueryServiceStatusEx", name, err)
	}
	config := (*windows.QUERY_SERVICE_CONFIG)(unsafe.Pointer(start(b)))
	return kernel.Service{
		DisplayName: windows.UTF16PtrToString(config.DisplayName), StartType: win32.ServiceStart(config.StartType),
		State:    win32.ServiceState(status.CurrentState),
		ExitCode: status.Win32ExitCode, ServiceExitCode: status.ServiceSpecificExitCode,
		CheckPoint: status.CheckPoint, WaitHint: status.WaitHint,
	}, nil
}

// closeService releases a handle of the Service Control Manager; nothing can be done about a failure.
func closeService(h windows.Handle) { _ = windows.CloseServiceHandle(h) }

// StartService calls StartServiceW.
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-startservicew
func (Kernel) StartService(name string) error {
	service, err := openService(name, windows.SERVICE_START)
	if err != nil {
		return err
	}
	defer closeService(service)
	return failure("StartServiceW", name, windows.StartService(service, 0, nil))
}

// StopService calls ControlService with SERVICE_CONTROL_STOP.
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-controlservice
func (Kernel) StopService(name string) error {
	service, err := openService(name, windows.SERVICE_STOP)
	if err != nil {
		return err
	}
	defer closeService(service)
	var status windows.SERVICE_STATUS
	return failure("ControlService", name, windows.ControlService(service, windows.SERVICE_CONTROL_STOP, &status))
}

// DependentServices calls EnumDependentServicesW with SERVICE_ACTIVE.
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-enumdependentservicesw
func (Kernel) DependentServices(name string) ([]string, error) {
	service, err := openService(name, windows.SERVICE_ENUMERATE_DEPENDENTS)
	if err != nil {
		return nil, err
	}
	defer closeService(service)
	names, err := (&mgr.Service{Handle: service}).ListDependentServices(svc.Active)
	return names, failure("EnumDependentServicesW", name, err)
}

// openService opens a service, which its caller closes: one with an open handle cannot be deleted.
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-openservicew
func openService(name string, rights uint32) (windows.Handle, error) {
	const function = "OpenServiceW"
	name16, err := wide(function, name)
	if err != nil {
		return 0, err
	}
	scm, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT)
	if err != nil {
		return 0, failure("OpenSCManagerW", "", err)
	}
	defer closeService(scm)
	service, err := windows.OpenService(scm, name16, rights)
	return service, failure(function, name, err)
}
