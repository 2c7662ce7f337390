// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// reading are the kernel calls that change nothing, whatever their parameters.
var reading = []string{
	"AccessList", "AdapterInterfaces", "DependentServices", "DevicesForISCSISession", "DiskFreeSpace", "DiskInterfaces",
	"FinalPath", "FsInformation", "ISCSIDiscoveryMechanisms", "ISCSIPersistentLogins", "ISCSISessionList", "Information",
	"OpenDevice", "QueryAttributes", "QueryService", "ReadAt", "RegistryStrings", "ReportISCSISendTargetPortals",
	"ReportISCSITargetPortals", "ReportISCSITargets", "SMBGlobalMappings", "SystemFirmwareTable", "SystemWindowsDirectory",
	"VolumeInformation", "VolumeNameForMountPoint", "VolumeNames", "VolumePathNames", "WaitForDeviceInstalls",
}

// readingCodes are the control codes that change nothing.
var readingCodes = []uint32{
	win32.IOCTL_SCSI_GET_ADDRESS, win32.IOCTL_DISK_IS_WRITABLE,
	win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, win32.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX, win32.IOCTL_DISK_GET_DISK_ATTRIBUTES,
	win32.IOCTL_DISK_GET_LENGTH_INFO,
	win32.IOCTL_DISK_UPDATE_DRIVE_SIZE, // Windows asks the disk again
	win32.IOCTL_STORAGE_GET_DEVICE_NUMBER, win32.IOCTL_STORAGE_QUERY_PROPERTY, win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS,
	win32.IOCTL_VOLUME_IS_OFFLINE, win32.IOCTL_MOUNTDEV_QUERY_DEVICE_NAME, win32.IOCTL_MOUNTMGR_QUERY_POINTS,
	win32.FSCTL_GET_NTFS_VOLUME_DATA, win32.FSCTL_GET_REPARSE_POINT,
}

// Changes reports whether a kernel call may change the node by itself. One that is not known may.
func Changes(call kernel.Call) bool {
	switch call.Function {
	case "OpenFile":
		return mayMake(call)
	case "DeviceIoControl":
		return !slices.Contains(readingCodes, call.Code)
	}
	return !slices.Contains(reading, call.Function)
}

// mayMake reports whether a call of OpenFile may make the file.
func mayMake(call kernel.Call) bool {
	opens := func(parameter any) bool {
		how, is := parameter.(kernel.OpenOptions)
		return is && how.Disposition == win32.FILE_OPEN
	}
	return !slices.ContainsFunc(call.Parameters, opens)
}
