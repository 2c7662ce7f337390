// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"fmt"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
)

// HostAPI gives access to the disks of a machine. Disk numbers are those of Windows. DiskAPI says what the methods do.
type HostAPI interface {
	ListDiskLocations() (map[uint32]DiskLocation, error)
	IsDiskInitialized(diskNumber uint32) (bool, error)
	InitializeDisk(diskNumber uint32) error
	BasicPartitionsExist(diskNumber uint32) (bool, error)
	CreateBasicPartition(diskNumber uint32) error
	Rescan() error
	ListDiskIDs() (map[uint32]DiskIDs, error)
	GetDiskStats(diskNumber uint32) (totalBytes int64, err error)
	SetDiskState(diskNumber uint32, isOnline bool) error
	GetDiskState(diskNumber uint32) (isOnline bool, err error)
	SetDiskReadOnly(diskNumber uint32, isReadOnly bool) error
	GetDiskReadOnly(diskNumber uint32) (bool, error)
}

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

// ListDiskLocations returns the SCSI addresses of the disks that have one.
func (d DiskAPI) ListDiskLocations() (map[uint32]DiskLocation, error) {
	r, err := call(d, diskv1.DiskClient.ListDiskLocations, &diskv1.ListDiskLocationsRequest{})
	if err != nil {
		return nil, err
	}
	locations := make(map[uint32]DiskLocation, len(r.GetDiskLocations()))
	for number, l := range r.GetDiskLocations() {
		locations[number] = DiskLocation{Adapter: l.GetAdapter(), Bus: l.GetBus(), Target: l.GetTarget(), LUNID: l.GetLUNID()}
	}
	return locations, nil
}

// ListDiskIDs returns the identities of all disks.
func (d DiskAPI) ListDiskIDs() (map[uint32]DiskIDs, error) {
	r, err := call(d, diskv1.DiskClient.ListDiskIDs, &diskv1.ListDiskIDsRequest{})
	if err != nil {
		return nil, err
	}
	all := make(map[uint32]DiskIDs, len(r.GetDiskIDs()))
	for number, ids := range r.GetDiskIDs() {
		all[number] = DiskIDs{Page83: ids.GetPage83(), SerialNumber: ids.GetSerialNumber()}
	}
	return all, nil
}

// GetDiskNumberWithID returns the number of the disk with exactly this page 83 identifier, as ListDiskIDs returns it.
func (d DiskAPI) GetDiskNumberWithID(page83ID string) (uint32, error) {
	all, err := d.ListDiskIDs()
	if err != nil {
		return 0, err
	}
	for number, ids := range all {
		if page83ID != "" && ids.Page83 == page83ID {
			return number, nil
		}
	}
	return 0, fmt.Errorf("no disk of this node has the page 83 identifier %q", page83ID)
}
