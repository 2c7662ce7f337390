// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"fmt"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
)

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

// Rescan makes Windows look for disks that came, went or grew, and returns when Windows has done so.
func (d DiskAPI) Rescan() error {
	_, err := call(d, diskv1.DiskClient.Rescan, &diskv1.RescanRequest{})
	return err
}

// GetDiskStats returns the size of a disk in bytes.
func (d DiskAPI) GetDiskStats(diskNumber uint32) (int64, error) {
	r, err := call(d, diskv1.DiskClient.GetDiskStats, &diskv1.GetDiskStatsRequest{DiskNumber: diskNumber})
	return r.GetTotalBytes(), err
}

// SetDiskState brings a disk online or takes it offline. A disk that is already in that state stays so.
func (d DiskAPI) SetDiskState(diskNumber uint32, isOnline bool) error {
	_, err := call(d, diskv1.DiskClient.SetDiskState,
		&diskv1.SetDiskStateRequest{DiskNumber: diskNumber, IsOnline: isOnline})
	return err
}

// GetDiskState reports whether a disk is online.
func (d DiskAPI) GetDiskState(diskNumber uint32) (bool, error) {
	r, err := call(d, diskv1.DiskClient.GetDiskState, &diskv1.GetDiskStateRequest{DiskNumber: diskNumber})
	return r.GetIsOnline(), err
}
