// SPDX-License-Identifier: Apache-2.0

package deviceside

// DiskGeometry is DISK_GEOMETRY, the output of IOCTL_DISK_UPDATE_DRIVE_SIZE, which the agent does not read.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-disk_geometry
type DiskGeometry struct {
	Cylinders         int64
	MediaType         uint32 // win32.FixedMedia
	TracksPerCylinder uint32
	SectorsPerTrack   uint32
	BytesPerSector    uint32
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
