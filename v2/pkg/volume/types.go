// SPDX-License-Identifier: Apache-2.0

package volume

// Requests and responses are named after their calls. A VolumeID is a volume name, \\?\Volume{GUID}\; a TargetPath
// is the directory where a volume is, or is to be, mounted.
type (
	// ListVolumesOnDiskRequest names the disk, and the partition or 0 for all.
	ListVolumesOnDiskRequest struct {
		DiskNumber      uint32
		PartitionNumber uint32
	}

	// ListVolumesOnDiskResponse has the volumes, those for data first.
	ListVolumesOnDiskResponse struct {
		VolumeIDs []string
	}

	// MountVolumeRequest names the volume and where it is mounted.
	MountVolumeRequest struct {
		VolumeID   string
		TargetPath string
	}

	// MountVolumeResponse has no fields.
	MountVolumeResponse struct{}

	// IsVolumeFormattedRequest names the volume.
	IsVolumeFormattedRequest struct {
		VolumeID string
	}

	// IsVolumeFormattedResponse reports whether it has a file system.
	IsVolumeFormattedResponse struct {
		Formatted bool
	}

	// FormatVolumeRequest names the volume.
	FormatVolumeRequest struct {
		VolumeID string
	}

	// FormatVolumeResponse has no fields.
	FormatVolumeResponse struct{}

	// WriteVolumeCacheRequest names the volume.
	WriteVolumeCacheRequest struct {
		VolumeID string
	}

	// WriteVolumeCacheResponse has no fields.
	WriteVolumeCacheResponse struct{}

	// UnmountVolumeRequest names the volume and where it is mounted.
	UnmountVolumeRequest struct {
		VolumeID   string
		TargetPath string
	}

	// UnmountVolumeResponse has no fields.
	UnmountVolumeResponse struct{}

	// ResizeVolumeRequest names the volume and the size of its partition.
	ResizeVolumeRequest struct {
		VolumeID string
		// SizeBytes is the size to grow to; 0: as large as the disk allows.
		SizeBytes int64
	}

	// ResizeVolumeResponse has no fields.
	ResizeVolumeResponse struct{}

	// GetVolumeStatsRequest names the volume.
	GetVolumeStatsRequest struct {
		VolumeID string
	}

	// GetVolumeStatsResponse has the sizes, 0 without a file system.
	GetVolumeStatsResponse struct {
		TotalBytes int64
		UsedBytes  int64
	}

	// GetDiskNumberFromVolumeIDRequest names the volume.
	GetDiskNumberFromVolumeIDRequest struct {
		VolumeID string
	}

	// GetDiskNumberFromVolumeIDResponse has the disk.
	GetDiskNumberFromVolumeIDResponse struct {
		DiskNumber uint32
	}

	// GetVolumeIDFromTargetPathRequest names the directory.
	GetVolumeIDFromTargetPathRequest struct {
		TargetPath string
	}

	// GetVolumeIDFromTargetPathResponse has the volume.
	GetVolumeIDFromTargetPathResponse struct {
		VolumeID string
	}

	// GetClosestVolumeIDFromTargetPathRequest names the path.
	GetClosestVolumeIDFromTargetPathRequest struct {
		TargetPath string
	}

	// GetClosestVolumeIDFromTargetPathResponse has the volume.
	GetClosestVolumeIDFromTargetPathResponse struct {
		VolumeID string
	}
)
