// SPDX-License-Identifier: Apache-2.0

package win32

import "encoding/binary"

// Sizes are the sizes of the structures by their C names.
var Sizes = map[string]int{
	"STORAGE_DEVICE_NUMBER":            binary.Size(StorageDeviceNumber{}),
	"STORAGE_PROPERTY_QUERY":           len(StoragePropertyQuery{}.Bytes()),
	"STORAGE_DESCRIPTOR_HEADER":        sizeofStorageDescriptorHeader,
	"STORAGE_DEVICE_UNIQUE_IDENTIFIER": SizeofStorageUniqueID,
	"STORAGE_IDENTIFIER":               align(offsetIdentifier+1, 4),
	"SCSI_ADDRESS":                     SizeofSCSIAddress,
	"DISK_GEOMETRY_EX":                 binary.Size(DiskGeometryEx{}),
	"GET_LENGTH_INFORMATION":           8, "GET_DISK_ATTRIBUTES": SizeofGetDiskAttributes,
	"DRIVE_LAYOUT_INFORMATION_EX": SizeofDriveLayout(1),
	"PARTITION_INFORMATION_EX":    sizeofPartition, "CREATE_DISK": SizeofCreateDisk,
	"DISK_GROW_PARTITION": len(GrowPartition{}.Bytes()),
	"VOLUME_DISK_EXTENTS": offsetExtents + sizeofDiskExtent, "DISK_EXTENT": sizeofDiskExtent,
	"NTFS_VOLUME_DATA_BUFFER":  binary.Size(NTFSVolumeData{}),
	"REPARSE_GUID_DATA_BUFFER": align(offsetReparseGUIDData+1, 4),
	"FILE_BASIC_INFO":          len(FileBasic{}.Bytes()),
	"FILE_ATTRIBUTE_TAG_INFO":  binary.Size(FileAttributeTag{}),
	"FILE_DISPOSITION_INFO":    len(FileDisposition(true)), "FILE_DISPOSITION_INFO_EX": len(FileDispositionEx(0)),
	"FILE_FS_FULL_SIZE_INFORMATION": SizeofFileFsFullSize,
	"SECURITY_DESCRIPTOR_RELATIVE":  sizeofSecurityDescriptor, "ACL": sizeofACL, "ACE_HEADER": sizeofACEHeader,
	"ACCESS_ALLOWED_ACE":      offsetSIDStart + 4,
	"FILE_RENAME_INFO":        sizeofFileRename,
	"FILE_FULL_DIR_INFO":      align(offsetFileName+2, 8),
	"ISCSI_UNIQUE_SESSION_ID": binary.Size(ISCSIUniqueID{}), "ISCSI_TARGET_PORTALW": SizeofISCSITargetPortal,
	"ISCSI_TARGET_PORTAL_INFOW": SizeofISCSITargetPortalInfo, "ISCSI_SESSION_INFOW": SizeofISCSISession,
	"ISCSI_DEVICE_ON_SESSIONW":     SizeofISCSIDevice,
	"PERSISTENT_ISCSI_LOGIN_INFOW": SizeofPersistentISCSILogin,
	"MOUNTMGR_VOLUME_MOUNT_POINT":  SizeofVolumeMountPoint,
	"MOUNTMGR_MOUNT_POINT":         SizeofMountPoint,
	"MOUNTMGR_MOUNT_POINTS":        offsetMountPoints + SizeofMountPoint,
	"MOUNTDEV_NAME":                4,
}

// align rounds n up to a multiple of to, a power of two.
func align(n, to int) int { return (n + to - 1) &^ (to - 1) }

// OffsetSymlinkNames is where the names of a symbolic link begin.
const OffsetSymlinkNames = offsetSymlinkNames
