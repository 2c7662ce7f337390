// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
)

// serviceQueryRights are the rights that a query needs; protected services refuse more even to LocalSystem.
const serviceQueryRights = windows.SERVICE_QUERY_CONFIG | windows.SERVICE_QUERY_STATUS

// QueryService calls QueryServiceConfigW and QueryServiceStatusEx.
//
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-queryserviceconfigw
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-queryservicestatusex
func (Kernel) QueryService(name string) (kernel.Service, error) {
	service, err := scm.openService(name, serviceQueryRights)
	if err != nil {
		return kernel.Service{}, err
	}
	defer closeService(service)

	var info kernel.Service
	if err := queryConfig(service, &info); err != nil {
		return kernel.Service{}, failure("QueryServiceConfigW", name, err)
	}
	var status windows.SERVICE_STATUS_PROCESS
	size := uint32(unsafe.Sizeof(status))
	err = windows.QueryServiceStatusEx(service, windows.SC_STATUS_PROCESS_INFO,
		(*byte)(unsafe.Pointer(&status)), size, &size)
	if err != nil {
		return kernel.Service{}, failure("QueryServiceStatusEx", name, err)
	}
	info.State = status.CurrentState
	info.Accepted = status.ControlsAccepted
	info.ExitCode = status.Win32ExitCode
	info.ServiceExitCode = status.ServiceSpecificExitCode
	info.CheckPoint = status.CheckPoint
	info.WaitHint = status.WaitHint
	info.ProcessID = status.ProcessId
	return info, nil
}

// usualConfigBytes has room for the strings of most services. Each further round is a call to another process.
const usualConfigBytes = 1 << 10

// queryConfig calls QueryServiceConfigW with a buffer of the size that it asks for, which is at most 8 KiB.
func queryConfig(service windows.Handle, info *kernel.Service) error {
	err := error(windows.ERROR_INSUFFICIENT_BUFFER)
	size := uint32(usualConfigBytes)
	for range growRounds {
		// Words, because the structure in the buffer holds pointers.
		buffer := make([]uint64, (size+7)/8)
		config := (*windows.QUERY_SERVICE_CONFIG)(unsafe.Pointer(&buffer[0]))
		if err = windows.QueryServiceConfig(service, config, uint32(len(buffer)*8), &size); err == nil {
			info.DisplayName = windows.UTF16PtrToString(config.DisplayName)
			info.StartType = config.StartType
			if config.Dependencies != nil {
				end := unsafe.Add(unsafe.Pointer(&buffer[0]), len(buffer)*8)
				units := (uintptr(end) - uintptr(unsafe.Pointer(config.Dependencies))) / 2
				info.Dependencies = multiStrings(unsafe.Slice(config.Dependencies, units))
			}
			return nil
		}
		if !errors.Is(err, windows.ERROR_INSUFFICIENT_BUFFER) {
			return err
		}
	}
	return err
}

// closeService releases a handle of the Service Control Manager; nothing can be done about a failure.
func closeService(h windows.Handle) { _ = windows.CloseServiceHandle(h) }
