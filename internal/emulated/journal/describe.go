// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"
	"regexp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
)

// padding matches the unnamed fields of a structure that is printed with %+v.
var padding = regexp.MustCompile(` _:(\[[^\]]*\]|\d+)`)

// describeInput returns the input of a control code for people: the fields of the structures that package win32 knows,
// the length of others, "" for no input. It never fails, whatever the bytes.
func describeInput(code uint32, in []byte) string {
	if len(in) == 0 {
		return ""
	}
	var decoded any
	err := error(nil)
	switch code {
	case win32.IOCTL_STORAGE_QUERY_PROPERTY:
		decoded, err = deviceside.ParseStoragePropertyQuery(in)
	case win32.IOCTL_DISK_SET_DISK_ATTRIBUTES:
		decoded, err = deviceside.Parse[win32.SetDiskAttributes](in)
	case win32.IOCTL_DISK_CREATE_DISK:
		decoded, err = deviceside.ParseCreateDisk(in)
	case win32.IOCTL_DISK_SET_DRIVE_LAYOUT_EX:
		decoded, err = win32.ParseDriveLayout(in)
	case win32.IOCTL_DISK_GROW_PARTITION:
		decoded, err = deviceside.Parse[win32.GrowPartition](in)
	case win32.FSCTL_EXTEND_VOLUME:
		sectors, parseErr := deviceside.Parse[int64](in)
		decoded, err = struct{ Sectors int64 }{sectors}, parseErr
	case win32.FSCTL_SET_REPARSE_POINT:
		decoded, err = win32.ParseReparsePoint(in)
	case win32.FSCTL_DELETE_REPARSE_POINT:
		tag, parseErr := deviceside.ParseDeleteReparsePoint(in)
		decoded, err = fmt.Sprintf("{Tag:0x%08x}", tag), parseErr
	case win32.IOCTL_MOUNTMGR_QUERY_POINTS:
		decoded, err = deviceside.ParseMountPoint(in)
	case win32.IOCTL_MOUNTMGR_VOLUME_MOUNT_POINT_DELETED:
		decoded, err = deviceside.ParseVolumeMountPoint(in)
	}
	if decoded == nil || err != nil {
		return fmt.Sprintf("(%d bytes)", len(in))
	}
	return padding.ReplaceAllString(fmt.Sprintf("%+v", decoded), "")
}
