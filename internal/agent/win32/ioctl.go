// SPDX-License-Identifier: Apache-2.0

package win32

import "fmt"

// Control codes for DeviceIoControl. Bits 14 and 15 are the access that the handle needs.
// https://learn.microsoft.com/windows/win32/api/winioctl/
const (
	IOCTL_SCSI_GET_ADDRESS               = 0x00041018 // out SCSIAddress
	IOCTL_DISK_IS_WRITABLE               = 0x00070024 // ERROR_WRITE_PROTECT: not
	IOCTL_DISK_GET_DRIVE_LAYOUT_EX       = 0x00070050 // out DriveLayout
	IOCTL_DISK_GET_DRIVE_GEOMETRY_EX     = 0x000700A0 // out DiskGeometryEx
	IOCTL_DISK_GET_DISK_ATTRIBUTES       = 0x000700F0 // out GetDiskAttributes
	IOCTL_DISK_UPDATE_PROPERTIES         = 0x00070140 // drops the cached layout and enumerates partitions again
	IOCTL_DISK_GET_LENGTH_INFO           = 0x0007405C // out bytes
	IOCTL_DISK_SET_DRIVE_LAYOUT_EX       = 0x0007C054 // in DriveLayout; replaces the table
	IOCTL_DISK_CREATE_DISK               = 0x0007C058 // in CreateDisk; destroys the present table
	IOCTL_DISK_UPDATE_DRIVE_SIZE         = 0x0007C0C8 // out DISK_GEOMETRY, which needs an output buffer
	IOCTL_DISK_GROW_PARTITION            = 0x0007C0D0 // in GrowPartition
	IOCTL_DISK_SET_DISK_ATTRIBUTES       = 0x0007C0F4 // in SetDiskAttributes
	IOCTL_STORAGE_GET_DEVICE_NUMBER      = 0x002D1080 // out StorageDeviceNumber
	IOCTL_STORAGE_QUERY_PROPERTY         = 0x002D1400 // in StoragePropertyQuery, out a descriptor
	IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS = 0x00560000 // out VolumeDiskExtents
	IOCTL_VOLUME_IS_OFFLINE              = 0x00560010
	IOCTL_VOLUME_ONLINE                  = 0x0056C008
	IOCTL_VOLUME_OFFLINE                 = 0x0056C00C

	IOCTL_MOUNTDEV_QUERY_DEVICE_NAME          = 0x004D0008 // out MOUNTDEV_NAME
	IOCTL_MOUNTMGR_QUERY_POINTS               = 0x006D0008 // in MountPoint, out []MountPoint, on the mount manager
	IOCTL_MOUNTMGR_VOLUME_MOUNT_POINT_DELETED = 0x006DC01C // in VolumeMountPoint, on the mount manager

	FSCTL_LOCK_VOLUME          = 0x00090018
	FSCTL_UNLOCK_VOLUME        = 0x0009001C
	FSCTL_DISMOUNT_VOLUME      = 0x00090020
	FSCTL_GET_NTFS_VOLUME_DATA = 0x00090064 // out NTFSVolumeData
	FSCTL_SET_REPARSE_POINT    = 0x000900A4 // in ReparsePoint
	FSCTL_GET_REPARSE_POINT    = 0x000900A8 // out ReparsePoint
	FSCTL_DELETE_REPARSE_POINT = 0x000900AC // in DeleteReparsePoint
	FSCTL_EXTEND_VOLUME        = 0x000900F0 // in ExtendVolume
)

// ControlCodeName returns the code's name, or its number such as 0x0007405c if this package does not know it.
func ControlCodeName(code uint32) string {
	if name, ok := controlCodeNames[code]; ok {
		return name
	}
	return fmt.Sprintf("0x%08x", code)
}
