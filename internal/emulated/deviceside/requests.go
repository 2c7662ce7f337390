// SPDX-License-Identifier: Apache-2.0

package deviceside

import (
	"encoding/binary"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
)

// ParseCreateDisk decodes a CREATE_DISK.
func ParseCreateDisk(in []byte) (win32.CreateDisk, error) {
	b, err := cstruct.Need("CREATE_DISK", in, win32.SizeofCreateDisk)
	if err != nil {
		return win32.CreateDisk{}, err
	}
	c := win32.CreateDisk{Style: win32.PartitionStyle(b.U32(0))}
	switch c.Style {
	case win32.PARTITION_STYLE_GPT:
		c.DiskID, c.MaxPartitionCount = b.GUID(4), b.U32(20)
	case win32.PARTITION_STYLE_MBR:
		c.Signature = b.U32(4)
	case win32.PARTITION_STYLE_RAW:
	default:
		return win32.CreateDisk{}, cstruct.Malformed("CREATE_DISK", "partition style %d", c.Style)
	}
	return c, nil
}

// ParseVolumeMountPoint decodes the input of IOCTL_MOUNTMGR_VOLUME_MOUNT_POINT_DELETED.
func ParseVolumeMountPoint(in []byte) (p win32.VolumeMountPoint, err error) {
	const structure = "MOUNTMGR_VOLUME_MOUNT_POINT"
	b, err := cstruct.Need(structure, in, win32.SizeofVolumeMountPoint)
	if err != nil {
		return p, err
	}
	if p.Path, err = cstruct.NameAt(structure, b, uint32(b.U16(0)), b.U16(2)); err != nil { // SourceVolumeNameOffset
		return p, err
	}
	p.Volume, err = cstruct.NameAt(structure, b, uint32(b.U16(4)), b.U16(6)) // TargetVolumeNameOffset
	return p, err
}

// ParseMountPoint decodes the input of IOCTL_MOUNTMGR_QUERY_POINTS.
func ParseMountPoint(in []byte) (win32.MountPoint, error) {
	const structure = "MOUNTMGR_MOUNT_POINT"
	b, err := cstruct.Need(structure, in, win32.SizeofMountPoint)
	if err != nil {
		return win32.MountPoint{}, err
	}
	return win32.MountPointAt(structure, b, 0)
}

const sizeofReparseHeader = 8 // ReparseTag, ReparseDataLength and Reserved

// ParseDeleteReparsePoint returns the tag to be removed from the input of FSCTL_DELETE_REPARSE_POINT.
func ParseDeleteReparsePoint(in []byte) (tag uint32, err error) {
	b, err := cstruct.Need("REPARSE_DATA_BUFFER", in, sizeofReparseHeader)
	if err != nil {
		return 0, err
	}
	if n := b.U16(4); n != 0 { // ReparseDataLength
		return 0, cstruct.Malformed("REPARSE_DATA_BUFFER", "data of %d bytes in a request to delete", n)
	}
	return b.U32(0), nil
}

// SizeofSetDiskAttributes is one of the two values that Windows may expect as the Version of a SET_DISK_ATTRIBUTES.
const SizeofSetDiskAttributes = 40

// Parse decodes an input that is one structure without pointers and names.
func Parse[T any](in []byte) (structure T, err error) {
	return cstruct.Parse[T](fmt.Sprintf("%T", structure), in, binary.Size(structure))
}

// ParseStoragePropertyQuery decodes a query. The first 8 bytes are enough: drivers do not ask for the padding.
func ParseStoragePropertyQuery(in []byte) (win32.StoragePropertyQuery, error) {
	return cstruct.Parse[win32.StoragePropertyQuery]("STORAGE_PROPERTY_QUERY", in, 8)
}
