// SPDX-License-Identifier: Apache-2.0

package win32

import "github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"

// DiskGeometryEx is DISK_GEOMETRY_EX: the disk's size, and a geometry of which only BytesPerSector has a meaning.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-disk_geometry_ex
type DiskGeometryEx struct {
	_              [20]byte
	BytesPerSector uint32
	DiskSize       int64   // bytes
	_              [8]byte // Data: partition and detection information
}

// ParseDiskGeometryEx decodes the output of IOCTL_DISK_GET_DRIVE_GEOMETRY_EX; it needs the 32 bytes before Data.
func ParseDiskGeometryEx(in []byte) (DiskGeometryEx, error) {
	return cstruct.Parse[DiskGeometryEx]("DISK_GEOMETRY_EX", in, 32)
}

// ParseLengthInformation returns the size of a disk or volume in bytes from the output of IOCTL_DISK_GET_LENGTH_INFO.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-get_length_information
func ParseLengthInformation(in []byte) (length int64, err error) {
	return cstruct.Parse[int64]("GET_LENGTH_INFORMATION", in, 8)
}

// Disk attributes.
const (
	DISK_ATTRIBUTE_OFFLINE   = 0x1
	DISK_ATTRIBUTE_READ_ONLY = 0x2
)

// GetDiskAttributes is GET_DISK_ATTRIBUTES.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-get_disk_attributes
type GetDiskAttributes struct {
	Version    uint32 // the structure's size, 16
	_          uint32 // Reserved1
	Attributes uint64 // DISK_ATTRIBUTE_OFFLINE, DISK_ATTRIBUTE_READ_ONLY
}

// SizeofGetDiskAttributes is the Version of GetDiskAttributes.
const SizeofGetDiskAttributes = 16

// ParseGetDiskAttributes decodes the output of IOCTL_DISK_GET_DISK_ATTRIBUTES.
func ParseGetDiskAttributes(in []byte) (GetDiskAttributes, error) {
	return cstruct.Parse[GetDiskAttributes]("GET_DISK_ATTRIBUTES", in, SizeofGetDiskAttributes)
}

// SetDiskAttributes is SET_DISK_ATTRIBUTES. Documentation gives 16 as the Version; published code its own size, 40.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-set_disk_attributes
type SetDiskAttributes struct {
	Version        uint32
	Persist        bool // keep the setting across restarts
	_              [3]byte
	Attributes     uint64 // the new values of the bits in AttributesMask
	AttributesMask uint64
	_              [4]uint32 // Reserved2
}

// Bytes encodes a SET_DISK_ATTRIBUTES, 40 bytes.
func (a SetDiskAttributes) Bytes() []byte { return cstruct.Encode(a) }
