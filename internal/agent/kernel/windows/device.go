// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"errors"
	"time"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows/winapi"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// GUID_DEVINTERFACE_DISK and GUID_DEVINTERFACE_STORAGEPORT.
// https://learn.microsoft.com/windows-hardware/drivers/install/guid-devinterface-disk
// https://learn.microsoft.com/windows-hardware/drivers/install/guid-devinterface-storageport
var (
	diskInterface = windows.GUID{Data1: 0x53F56307, Data2: 0xB6BF, Data3: 0x11D0,
		Data4: [8]byte{0x94, 0xF2, 0x00, 0xA0, 0xC9, 0x1E, 0xFB, 0x8B}}
	adapterInterface = windows.GUID{Data1: 0x2ACCFE60, Data2: 0xC130, Data3: 0x11D2,
		Data4: [8]byte{0xB0, 0x82, 0x00, 0xA0, 0xC9, 0x1E, 0xFB, 0x8B}}
)

// DiskInterfaces calls CM_Get_Device_Interface_ListW for the disks that are present.
// https://learn.microsoft.com/windows/win32/api/cfgmgr32/nf-cfgmgr32-cm_get_device_interface_listw
func (Kernel) DiskInterfaces() ([]string, error) { return deviceInterfaces(&diskInterface) }

// AdapterInterfaces calls CM_Get_Device_Interface_ListW for the storage adapters that are present.
// https://learn.microsoft.com/windows/win32/api/cfgmgr32/nf-cfgmgr32-cm_get_device_interface_listw
func (Kernel) AdapterInterfaces() ([]string, error) { return deviceInterfaces(&adapterInterface) }

func deviceInterfaces(class *windows.GUID) ([]string, error) {
	paths, err := windows.CM_Get_Device_Interface_List("", class, windows.CM_GET_DEVICE_INTERFACE_LIST_PRESENT)
	if errors.Is(err, windows.ERROR_NO_SUCH_DEVICE_INTERFACE) { // the wrapper's error for an empty list
		return nil, nil
	}
	return paths, failure("CM_Get_Device_Interface_ListW", "", err)
}

// OpenDevice calls CreateFileW for a device that exists, shared for reading and writing.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-createfilew
func (Kernel) OpenDevice(path string, access uint32) (kernel.Handle, error) {
	const function = "CreateFileW"
	name, err := wide(function, path)
	if err != nil {
		return nil, err
	}
	h, err := windows.CreateFile(name, access, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, nil,
		windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		return nil, failure(function, path, err)
	}
	return newHandle(h, path), nil
}

// ReenumerateDevices calls CM_Reenumerate_DevNode, synchronously, for the root of the device tree.
func (Kernel) ReenumerateDevices() error {
	var root windows.DEVINST
	if ret := winapi.CMLocateDevNode(&root, nil, 0); ret != windows.CR_SUCCESS {
		return failure("CM_Locate_DevNodeW", "", ret)
	}
	if ret := winapi.CMReenumerateDevNode(root, winapi.CM_REENUMERATE_SYNCHRONOUS); ret != windows.CR_SUCCESS {
		return failure("CM_Reenumerate_DevNode", "", ret)
	}
	return nil
}

// WaitForDeviceInstalls calls CMP_WaitNoPendingInstallEvents.
func (Kernel) WaitForDeviceInstalls(limit time.Duration) error {
	const function = "CMP_WaitNoPendingInstallEvents"
	ret, err := winapi.CMPWaitNoPendingInstallEvents(uint32(limit.Milliseconds()))
	if err == nil && ret == uint32(windows.WAIT_TIMEOUT) {
		err = win32.ERROR_TIMEOUT
	}
	return failure(function, "", err)
}
