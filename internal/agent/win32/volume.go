// SPDX-License-Identifier: Apache-2.0

package win32

import (
	"encoding/binary"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
)

// DiskExtent is DISK_EXTENT, a range of bytes on a disk.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-disk_extent
type DiskExtent struct {
	DiskNumber     uint32
	_              uint32
	StartingOffset int64 // bytes
	Length         int64 // bytes
}

// VolumeDiskExtents is VOLUME_DISK_EXTENTS: the ranges that make up a volume, one unless it is spanned or striped.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-volume_disk_extents
type VolumeDiskExtents []DiskExtent

const (
	sizeofDiskExtent = 24
	offsetExtents    = 8 // Extents
)

// ParseVolumeDiskExtents decodes the output of IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS.
func ParseVolumeDiskExtents(in []byte) (VolumeDiskExtents, error) {
	const structure = "VOLUME_DISK_EXTENTS"
	b, err := cstruct.Need(structure, in, offsetExtents)
	if err != nil {
		return nil, err
	}
	count := b.U32(0) // NumberOfDiskExtents
	if fit := (len(b) - offsetExtents) / sizeofDiskExtent; int64(count) > int64(fit) {
		return nil, cstruct.Malformed(structure, "%d extents, and room for %d", count, fit)
	}
	v := make(VolumeDiskExtents, count)
	_, err = binary.Decode(b[offsetExtents:], binary.LittleEndian, v)
	return v, err
}

// NTFSVolumeData is NTFS_VOLUME_DATA_BUFFER.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-ntfs_volume_data_buffer
type NTFSVolumeData struct {
	_               [8]byte
	NumberSectors   int64
	_               [24]byte
	BytesPerSector  uint32
	BytesPerCluster uint32
	_               [48]byte
}

// ParseNTFSVolumeData decodes the output of FSCTL_GET_NTFS_VOLUME_DATA, without an NTFS_EXTENDED_VOLUME_DATA after it.
func ParseNTFSVolumeData(in []byte) (NTFSVolumeData, error) {
	return cstruct.Parse[NTFSVolumeData]("NTFS_VOLUME_DATA_BUFFER", in, 96)
}

// ExtendVolume encodes the input of FSCTL_EXTEND_VOLUME: the new total size in sectors.
// https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_extend_volume
func ExtendVolume(sectors int64) []byte { return cstruct.Encode(sectors) }
