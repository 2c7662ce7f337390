// SPDX-License-Identifier: Apache-2.0

package win32

import "github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"

// Sizes are the sizes of the structures by their C names.
var Sizes = map[string]int{
	"STORAGE_DEVICE_NUMBER":     len(StorageDeviceNumber{}.Bytes()),
	"STORAGE_PROPERTY_QUERY":    len(StoragePropertyQuery{}.Bytes()),
	"STORAGE_DESCRIPTOR_HEADER": sizeofStorageDescriptorHeader, "STORAGE_DEVICE_DESCRIPTOR": SizeofStorageDevice,
	"STORAGE_ADAPTER_DESCRIPTOR": SizeofStorageAdapter, "STORAGE_DEVICE_UNIQUE_IDENTIFIER": SizeofStorageUniqueID,
	"STORAGE_DEVICE_ID_DESCRIPTOR": SizeofStorageDeviceID, "STORAGE_IDENTIFIER": cstruct.Align(offsetIdentifier+1, 4),
	"SCSI_ADDRESS": SizeofSCSIAddress, "DISK_GEOMETRY": len(DiskGeometry{}.Bytes()),
	"DISK_GEOMETRY_EX":       len(DiskGeometryEx{}.Bytes()),
	"GET_LENGTH_INFORMATION": len(LengthInformation{}.Bytes()), "GET_DISK_ATTRIBUTES": SizeofGetDiskAttributes,
	"SET_DISK_ATTRIBUTES": SizeofSetDiskAttributes, "DRIVE_LAYOUT_INFORMATION_EX": SizeofDriveLayout(1),
	"PARTITION_INFORMATION_EX": sizeofPartition, "CREATE_DISK": SizeofCreateDisk,
	"DISK_GROW_PARTITION": len(GrowPartition{}.Bytes()),
	"VOLUME_DISK_EXTENTS": offsetExtents + sizeofDiskExtent, "DISK_EXTENT": sizeofDiskExtent,
	"NTFS_VOLUME_DATA_BUFFER":  len(NTFSVolumeData{}.Bytes()),
	"REPARSE_GUID_DATA_BUFFER": cstruct.Align(offsetReparseGUIDData+1, 4),
	"FILE_BASIC_INFO":          len(FileBasic{}.Bytes()), "FILE_STANDARD_INFO": len(FileStandard{}.Bytes()),
	"FILE_ATTRIBUTE_TAG_INFO": len(FileAttributeTag{}.Bytes()), "FILE_ID_INFO": len(FileID{}.Bytes()),
	"FILE_DISPOSITION_INFO": len(FileDisposition(true)), "FILE_DISPOSITION_INFO_EX": len(FileDispositionEx(0)),
	"FILE_FS_FULL_SIZE_INFORMATION": SizeofFileFsFullSize,
	"SECURITY_DESCRIPTOR_RELATIVE":  sizeofSecurityDescriptor, "ACL": sizeofACL, "ACE_HEADER": sizeofACEHeader,
	"ACCESS_ALLOWED_ACE":      offsetSIDStart + 4,
	"FILE_RENAME_INFO":        sizeofFileRename,
	"FILE_FULL_DIR_INFO":      cstruct.Align(offsetFileName+2, 8),
	"ISCSI_UNIQUE_SESSION_ID": len(ISCSIUniqueID{}.Bytes()), "ISCSI_TARGET_PORTALW": SizeofISCSITargetPortal,
	"ISCSI_TARGET_PORTAL_INFOW": SizeofISCSITargetPortalInfo, "ISCSI_SESSION_INFOW": SizeofISCSISession,
	"ISCSI_CONNECTION_INFOW": SizeofISCSIConnection, "ISCSI_DEVICE_ON_SESSIONW": SizeofISCSIDevice,
	"PERSISTENT_ISCSI_LOGIN_INFOW": SizeofPersistentISCSILogin,
	"MOUNTMGR_VOLUME_MOUNT_POINT":  SizeofVolumeMountPoint,
}

// ControlCodeNames are the names of the control codes.
var ControlCodeNames = controlCodeNames

// ErrnoNames are the names of the error codes, and ErrnoTexts their texts.
var ErrnoNames, ErrnoTexts = errnoNames, errnoTexts

// OffsetSymlinkNames is where the names of a symbolic link begin.
const OffsetSymlinkNames = offsetSymlinkNames
