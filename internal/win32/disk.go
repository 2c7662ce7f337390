// SPDX-License-Identifier: Apache-2.0

package win32

// FixedMedia is the MediaType of hard disks in DiskGeometry.
const FixedMedia = 12

// DiskGeometry is DISK_GEOMETRY, the output of IOCTL_DISK_UPDATE_DRIVE_SIZE. On today's disks only BytesPerSector has a
// meaning.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-disk_geometry
type DiskGeometry struct {
	Cylinders         int64
	MediaType         uint32 // FixedMedia
	TracksPerCylinder uint32
	SectorsPerTrack   uint32
	BytesPerSector    uint32
}

const sizeofDiskGeometry = 24

// Bytes encodes a DISK_GEOMETRY, 24 bytes.
func (g DiskGeometry) Bytes() []byte {
	b := make(buffer, sizeofDiskGeometry)
	g.put(b)
	return b
}

func (g DiskGeometry) put(b buffer) {
	b.putI64(0, g.Cylinders)          // Cylinders
	b.putU32(8, g.MediaType)          // MediaType
	b.putU32(12, g.TracksPerCylinder) // TracksPerCylinder
	b.putU32(16, g.SectorsPerTrack)   // SectorsPerTrack
	b.putU32(20, g.BytesPerSector)    // BytesPerSector
}

// ParseDiskGeometry decodes a DISK_GEOMETRY.
func ParseDiskGeometry(in []byte) (DiskGeometry, error) {
	b, err := need("DISK_GEOMETRY", in, sizeofDiskGeometry)
	if err != nil {
		return DiskGeometry{}, err
	}
	return DiskGeometry{
		Cylinders: b.i64(0), MediaType: b.u32(8), TracksPerCylinder: b.u32(12), SectorsPerTrack: b.u32(16),
		BytesPerSector: b.u32(20),
	}, nil
}

// DiskGeometryEx is DISK_GEOMETRY_EX: the geometry and the size of the disk in bytes.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-disk_geometry_ex
type DiskGeometryEx struct {
	Cylinders         int64
	MediaType         uint32 // FixedMedia
	TracksPerCylinder uint32
	SectorsPerTrack   uint32
	BytesPerSector    uint32
	DiskSize          int64 // bytes
}

const (
	sizeofDiskGeometryEx = 40
	offsetGeometryData   = 32 // Data: partition and detection information, which is not used here
)

// Bytes encodes a DISK_GEOMETRY_EX, 40 bytes, with an empty Data.
func (g DiskGeometryEx) Bytes() []byte {
	b := make(buffer, sizeofDiskGeometryEx)
	DiskGeometry{g.Cylinders, g.MediaType, g.TracksPerCylinder, g.SectorsPerTrack, g.BytesPerSector}.put(b)
	b.putI64(24, g.DiskSize) // DiskSize
	return b
}

// ParseDiskGeometryEx decodes the output of IOCTL_DISK_GET_DRIVE_GEOMETRY_EX; it needs the 32 bytes before Data.
func ParseDiskGeometryEx(in []byte) (DiskGeometryEx, error) {
	b, err := need("DISK_GEOMETRY_EX", in, offsetGeometryData)
	if err != nil {
		return DiskGeometryEx{}, err
	}
	return DiskGeometryEx{
		Cylinders: b.i64(0), MediaType: b.u32(8), TracksPerCylinder: b.u32(12), SectorsPerTrack: b.u32(16),
		BytesPerSector: b.u32(20), DiskSize: b.i64(24),
	}, nil
}

// LengthInformation is GET_LENGTH_INFORMATION, the size of a disk or volume in bytes.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-get_length_information
type LengthInformation struct {
	Length int64
}

const sizeofLengthInformation = 8

// Bytes encodes a GET_LENGTH_INFORMATION, 8 bytes.
func (l LengthInformation) Bytes() []byte {
	b := make(buffer, sizeofLengthInformation)
	b.putI64(0, l.Length) // Length
	return b
}

// ParseLengthInformation decodes the output of IOCTL_DISK_GET_LENGTH_INFO.
func ParseLengthInformation(in []byte) (LengthInformation, error) {
	b, err := need("GET_LENGTH_INFORMATION", in, sizeofLengthInformation)
	if err != nil {
		return LengthInformation{}, err
	}
	return LengthInformation{Length: b.i64(0)}, nil
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
	Attributes uint64 // DISK_ATTRIBUTE_OFFLINE, DISK_ATTRIBUTE_READ_ONLY
}

// SizeofGetDiskAttributes is the Version of GetDiskAttributes.
const SizeofGetDiskAttributes = 16

// Bytes encodes a GET_DISK_ATTRIBUTES, 16 bytes.
func (a GetDiskAttributes) Bytes() []byte {
	b := make(buffer, SizeofGetDiskAttributes)
	b.putU32(0, a.Version)    // Version
	b.putU64(8, a.Attributes) // Attributes; Reserved1@4 stays zero
	return b
}

// ParseGetDiskAttributes decodes the output of IOCTL_DISK_GET_DISK_ATTRIBUTES.
func ParseGetDiskAttributes(in []byte) (GetDiskAttributes, error) {
	b, err := need("GET_DISK_ATTRIBUTES", in, SizeofGetDiskAttributes)
	if err != nil {
		return GetDiskAttributes{}, err
	}
	return GetDiskAttributes{Version: b.u32(0), Attributes: b.u64(8)}, nil
}

// SetDiskAttributes is SET_DISK_ATTRIBUTES. Its documentation gives the size of GET_DISK_ATTRIBUTES, 16, as the
// Version; published code sends the size of this structure, 40.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-set_disk_attributes
type SetDiskAttributes struct {
	Version        uint32
	Persist        bool   // keep the setting across restarts
	Attributes     uint64 // the new values of the bits in AttributesMask
	AttributesMask uint64
}

// SizeofSetDiskAttributes is one of the two values that Windows may expect as the Version of SetDiskAttributes.
const SizeofSetDiskAttributes = 40

// Bytes encodes a SET_DISK_ATTRIBUTES, 40 bytes.
func (a SetDiskAttributes) Bytes() []byte {
	b := make(buffer, SizeofSetDiskAttributes)
	b.putU32(0, a.Version)         // Version
	b.putFlag(4, a.Persist)        // Persist; Reserved1@5 stays zero
	b.putU64(8, a.Attributes)      // Attributes
	b.putU64(16, a.AttributesMask) // AttributesMask; Reserved2@24 stays zero
	return b
}

// ParseSetDiskAttributes decodes the input of IOCTL_DISK_SET_DISK_ATTRIBUTES.
func ParseSetDiskAttributes(in []byte) (SetDiskAttributes, error) {
	b, err := need("SET_DISK_ATTRIBUTES", in, SizeofSetDiskAttributes)
	if err != nil {
		return SetDiskAttributes{}, err
	}
	return SetDiskAttributes{
		Version: b.u32(0), Persist: b.flag(4), Attributes: b.u64(8), AttributesMask: b.u64(16),
	}, nil
}
