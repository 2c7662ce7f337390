// SPDX-License-Identifier: Apache-2.0

package deviceside

// FixedMedia is the MediaType of hard disks.
const FixedMedia = 12

// DiskGeometry is DISK_GEOMETRY, the output of IOCTL_DISK_UPDATE_DRIVE_SIZE, which the agent does not read.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-disk_geometry
type DiskGeometry struct {
	Cylinders         int64
	MediaType         uint32 // FixedMedia
	TracksPerCylinder uint32
	SectorsPerTrack   uint32
	BytesPerSector    uint32
}

// DiskGeometryEx is DISK_GEOMETRY_EX.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-disk_geometry_ex
type DiskGeometryEx struct {
	DiskGeometry

	DiskSize int64   // bytes
	_        [8]byte // Data: partition and detection information, which is not used here
}

// Access that a control code needs from the handle (CTL_CODE's Access).
const (
	FILE_READ_ACCESS  = 1 // GENERIC_READ
	FILE_WRITE_ACCESS = 2 // GENERIC_WRITE
)

// What the agent asks for nowhere: a reparse tag, which the Windows Subsystem for Linux makes and Win32 cannot follow, and
// an attribute of files.
const (
	IO_REPARSE_TAG_LX_SYMLINK = 0xA000001D
	FILE_ATTRIBUTE_ARCHIVE    = 0x20
)

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

// FileBasic is FILE_BASIC_INFO. Times count 100 ns from 1601-01-01 UTC.
// https://learn.microsoft.com/windows/win32/api/winbase/ns-winbase-file_basic_info
type FileBasic struct {
	CreationTime   int64
	LastAccessTime int64
	LastWriteTime  int64
	ChangeTime     int64
	Attributes     uint32
	_              uint32
}

// FileStandard is FILE_STANDARD_INFO.
// https://learn.microsoft.com/windows/win32/api/winbase/ns-winbase-file_standard_info
type FileStandard struct {
	AllocationSize int64 // bytes
	EndOfFile      int64 // bytes
	NumberOfLinks  uint32
	DeletePending  bool
	Directory      bool
	_              [2]byte
}

// align rounds n up to a multiple of to, a power of two.
func align(n, to int) int { return (n + to - 1) &^ (to - 1) }
