// SPDX-License-Identifier: Apache-2.0

package deviceside

import (
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/win32/cstruct"
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
	if p.Path, err = cstruct.NameAt(structure, b, b.U16(0), b.U16(2)); err != nil { // SourceVolumeNameOffset
		return p, err
	}
	p.Volume, err = cstruct.NameAt(structure, b, b.U16(4), b.U16(6)) // TargetVolumeNameOffset
	return p, err
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
