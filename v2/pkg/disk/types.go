// SPDX-License-Identifier: Apache-2.0

package disk

// DiskLocation is the SCSI address of a disk, each part decimal, "" where it is not known.
type DiskLocation struct {
	Adapter string
	Bus     string
	Target  string
	LUNID   string
}

// DiskIDs are the identities of a disk, "" for one that it does not have.
type DiskIDs struct {
	// Page83 is the first identifier of vital product data page 0x83: text as it is, or bytes in lower-case hex.
	Page83       string
	SerialNumber string
}

// Requests and responses are named after their calls. A DiskNumber is Windows' number of the disk, which may
// change when the node boots.
type (
	// ListDiskLocationsRequest has no fields.
	ListDiskLocationsRequest struct{}

	// ListDiskLocationsResponse has the locations by disk number.
	ListDiskLocationsResponse struct {
		DiskLocations map[uint32]*DiskLocation
	}

	// PartitionDiskRequest names the disk.
	PartitionDiskRequest struct {
		DiskNumber uint32
	}

	// PartitionDiskResponse has no fields.
	PartitionDiskResponse struct{}

	// RescanRequest has no fields.
	RescanRequest struct{}

	// RescanResponse has no fields.
	RescanResponse struct{}

	// ListDiskIDsRequest has no fields.
	ListDiskIDsRequest struct{}

	// ListDiskIDsResponse has the identities by disk number.
	ListDiskIDsResponse struct {
		DiskIDs map[uint32]*DiskIDs
	}

	// GetDiskStatsRequest names the disk.
	GetDiskStatsRequest struct {
		DiskNumber uint32
	}

	// GetDiskStatsResponse has the size of the disk.
	GetDiskStatsResponse struct {
		TotalBytes int64
	}

	// SetDiskStateRequest names the disk and its new state.
	SetDiskStateRequest struct {
		DiskNumber uint32
		IsOnline   bool
	}

	// SetDiskStateResponse has no fields.
	SetDiskStateResponse struct{}

	// SetDiskReadOnlyRequest names the disk.
	SetDiskReadOnlyRequest struct {
		DiskNumber uint32
		IsReadOnly bool
	}

	// SetDiskReadOnlyResponse has no fields.
	SetDiskReadOnlyResponse struct{}

	// GetDiskReadOnlyRequest names the disk.
	GetDiskReadOnlyRequest struct {
		DiskNumber uint32
	}

	// GetDiskReadOnlyResponse has the attribute of the disk.
	GetDiskReadOnlyResponse struct {
		IsReadOnly bool
	}

	// GetDiskStateRequest names the disk.
	GetDiskStateRequest struct {
		DiskNumber uint32
	}

	// GetDiskStateResponse has the state of the disk.
	GetDiskStateResponse struct {
		IsOnline bool
	}
)
