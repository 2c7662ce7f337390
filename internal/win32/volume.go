// SPDX-License-Identifier: Apache-2.0

package win32

// DiskExtent is DISK_EXTENT, a range of bytes on a disk.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-disk_extent
type DiskExtent struct {
	DiskNumber     uint32
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

// SizeofVolumeDiskExtents is the size in bytes of a VOLUME_DISK_EXTENTS with that many extents.
func SizeofVolumeDiskExtents(extents int) int { return offsetExtents + extents*sizeofDiskExtent }

// Bytes encodes a VOLUME_DISK_EXTENTS, 8 bytes and 24 for each extent.
func (v VolumeDiskExtents) Bytes() []byte {
	b := make(buffer, SizeofVolumeDiskExtents(len(v)))
	b.putU32(0, uint32(len(v))) // NumberOfDiskExtents
	for i, e := range v {
		at := SizeofVolumeDiskExtents(i)
		b.putU32(at, e.DiskNumber)       // DiskNumber
		b.putI64(at+8, e.StartingOffset) // StartingOffset
		b.putI64(at+16, e.Length)        // ExtentLength
	}
	return b
}

// VolumeDiskExtentsCount returns the number of extents from the partial answer that came with ERROR_MORE_DATA, at least
// 4 bytes.
func VolumeDiskExtentsCount(in []byte) (uint32, error) {
	b, err := need("VOLUME_DISK_EXTENTS", in, 4)
	if err != nil {
		return 0, err
	}
	return b.u32(0), nil
}

// ParseVolumeDiskExtents decodes the output of IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS.
func ParseVolumeDiskExtents(in []byte) (VolumeDiskExtents, error) {
	const structure = "VOLUME_DISK_EXTENTS"
	b, err := need(structure, in, offsetExtents)
	if err != nil {
		return nil, err
	}
	count := b.u32(0) // NumberOfDiskExtents
	if fit := (len(b) - offsetExtents) / sizeofDiskExtent; int64(count) > int64(fit) {
		return nil, malformed(structure, "%d extents in a buffer for %d", count, fit)
	}
	v := make(VolumeDiskExtents, count)
	for i := range v {
		at := SizeofVolumeDiskExtents(i)
		v[i] = DiskExtent{DiskNumber: b.u32(at), StartingOffset: b.i64(at + 8), Length: b.i64(at + 16)}
	}
	return v, nil
}

// NTFSVolumeData is NTFS_VOLUME_DATA_BUFFER. Clusters are numbered from the start of the volume.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-ntfs_volume_data_buffer
type NTFSVolumeData struct {
	SerialNumber                 int64
	NumberSectors                int64
	TotalClusters                int64
	FreeClusters                 int64
	TotalReserved                int64 // clusters
	BytesPerSector               uint32
	BytesPerCluster              uint32
	BytesPerFileRecordSegment    uint32
	ClustersPerFileRecordSegment uint32
	MftValidDataLength           int64 // bytes
	MftStartLCN                  int64
	Mft2StartLCN                 int64
	MftZoneStart                 int64
	MftZoneEnd                   int64
}

const sizeofNTFSVolumeData = 96

// Bytes encodes an NTFS_VOLUME_DATA_BUFFER, 96 bytes.
func (d NTFSVolumeData) Bytes() []byte {
	b := make(buffer, sizeofNTFSVolumeData)
	b.putI64(0, d.SerialNumber)                  // VolumeSerialNumber
	b.putI64(8, d.NumberSectors)                 // NumberSectors
	b.putI64(16, d.TotalClusters)                // TotalClusters
	b.putI64(24, d.FreeClusters)                 // FreeClusters
	b.putI64(32, d.TotalReserved)                // TotalReserved
	b.putU32(40, d.BytesPerSector)               // BytesPerSector
	b.putU32(44, d.BytesPerCluster)              // BytesPerCluster
	b.putU32(48, d.BytesPerFileRecordSegment)    // BytesPerFileRecordSegment
	b.putU32(52, d.ClustersPerFileRecordSegment) // ClustersPerFileRecordSegment
	b.putI64(56, d.MftValidDataLength)           // MftValidDataLength
	b.putI64(64, d.MftStartLCN)                  // MftStartLcn
	b.putI64(72, d.Mft2StartLCN)                 // Mft2StartLcn
	b.putI64(80, d.MftZoneStart)                 // MftZoneStart
	b.putI64(88, d.MftZoneEnd)                   // MftZoneEnd
	return b
}

// ParseNTFSVolumeData decodes the output of FSCTL_GET_NTFS_VOLUME_DATA. It ignores an NTFS_EXTENDED_VOLUME_DATA after
// it.
func ParseNTFSVolumeData(in []byte) (NTFSVolumeData, error) {
	b, err := need("NTFS_VOLUME_DATA_BUFFER", in, sizeofNTFSVolumeData)
	if err != nil {
		return NTFSVolumeData{}, err
	}
	return NTFSVolumeData{
		SerialNumber: b.i64(0), NumberSectors: b.i64(8), TotalClusters: b.i64(16), FreeClusters: b.i64(24),
		TotalReserved: b.i64(32), BytesPerSector: b.u32(40), BytesPerCluster: b.u32(44),
		BytesPerFileRecordSegment: b.u32(48), ClustersPerFileRecordSegment: b.u32(52),
		MftValidDataLength: b.i64(56), MftStartLCN: b.i64(64), Mft2StartLCN: b.i64(72),
		MftZoneStart: b.i64(80), MftZoneEnd: b.i64(88),
	}, nil
}

const sizeofExtendVolume = 8

// ExtendVolume encodes the input of FSCTL_EXTEND_VOLUME: the new total size in sectors.
// https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_extend_volume
func ExtendVolume(sectors int64) []byte {
	b := make(buffer, sizeofExtendVolume)
	b.putI64(0, sectors)
	return b
}

// ParseExtendVolume returns the number of sectors from the input of FSCTL_EXTEND_VOLUME.
func ParseExtendVolume(in []byte) (sectors int64, err error) {
	b, err := need("LARGE_INTEGER", in, sizeofExtendVolume)
	if err != nil {
		return 0, err
	}
	return b.i64(0), nil
}
