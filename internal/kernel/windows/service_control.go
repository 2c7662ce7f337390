// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/windows"
)

// StartService calls StartServiceW.
//
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-startservicew
func (Kernel) StartService(name string) error {
	service, err := scm.openService(name, windows.SERVICE_START)
	if err != nil {
		return err
	}
	defer closeService(service)
	return failure("StartServiceW", name, windows.StartService(service, 0, nil))
}

// StopService calls ControlService with SERVICE_CONTROL_STOP.
//
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-controlservice
func (Kernel) StopService(name string) error {
	service, err := scm.openService(name, windows.SERVICE_STOP)
	if err != nil {
		return err
	}
	defer closeService(service)
	var status windows.SERVICE_STATUS
	return failure("ControlService", name, windows.ControlService(service, windows.SERVICE_CONTROL_STOP, &status))
}

// DependentServices calls EnumDependentServicesW with SERVICE_ACTIVE.
//
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-enumdependentservicesw
func (Kernel) DependentServices(name string) ([]string, error) {
	service, err := scm.openService(name, windows.SERVICE_ENUMERATE_DEPENDENTS)
	if err != nil {
		return nil, err
	}
	defer closeService(service)
	names, err := enumDependents(service)
	return names, failure("EnumDependentServicesW", name, err)
}

// enumDependents calls EnumDependentServicesW with a buffer of the size that it asks for. The buffer is made of words
// because it holds structures with pointers into the same buffer.
func enumDependents(service windows.Handle) ([]string, error) {
	err := error(windows.ERROR_MORE_DATA)
	size := uint32(unsafe.Sizeof(windows.ENUM_SERVICE_STATUS{}))
	for range growRounds {
		buffer := make([]uint64, (size+7)/8)
		first := (*windows.ENUM_SERVICE_STATUS)(unsafe.Pointer(&buffer[0]))
		var count uint32
		err = windows.EnumDependentServices(service, windows.SERVICE_ACTIVE, first, uint32(len(buffer)*8), &size, &count)
		if err == nil {
			var names []string
			for _, dependent := range unsafe.Slice(first, count) {
				names = append(names, windows.UTF16PtrToString(dependent.ServiceName))
			}
			return names, nil
		}
		if !errors.Is(err, windows.ERROR_MORE_DATA) {
			return nil, err
		}
	}
	return nil, err
}
