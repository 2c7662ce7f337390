// SPDX-License-Identifier: Apache-2.0

package win32

import "fmt"

// DescribeInput returns the input of a control code for people: the fields of the structures that this package knows,
// the length of others, "" for no input. It never fails, whatever the bytes.
func DescribeInput(code uint32, in []byte) string {
	if len(in) == 0 {
		return ""
	}
	var decoded any
	err := error(nil)
	switch code {
	case IOCTL_STORAGE_QUERY_PROPERTY:
		decoded, err = ParseStoragePropertyQuery(in)
	case IOCTL_DISK_SET_DISK_ATTRIBUTES:
		decoded, err = ParseSetDiskAttributes(in)
	case IOCTL_DISK_CREATE_DISK:
		decoded, err = ParseCreateDisk(in)
	case IOCTL_DISK_SET_DRIVE_LAYOUT_EX:
		decoded, err = ParseDriveLayout(in)
	case IOCTL_DISK_GROW_PARTITION:
		decoded, err = ParseGrowPartition(in)
	case FSCTL_EXTEND_VOLUME:
		sectors, wrong := ParseExtendVolume(in)
		decoded, err = struct{ Sectors int64 }{sectors}, wrong
	case FSCTL_SET_REPARSE_POINT:
		decoded, err = ParseReparsePoint(in)
	case FSCTL_DELETE_REPARSE_POINT:
		tag, wrong := ParseDeleteReparsePoint(in)
		decoded, err = fmt.Sprintf("{Tag:0x%08x}", tag), wrong
	case IOCTL_MOUNTMGR_VOLUME_MOUNT_POINT_DELETED:
		decoded, err = ParseVolumeMountPoint(in)
	}
	if decoded == nil || err != nil {
		return fmt.Sprintf("(%d bytes)", len(in))
	}
	return fmt.Sprintf("%+v", decoded)
}
