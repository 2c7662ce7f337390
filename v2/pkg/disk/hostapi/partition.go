// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"errors"

	volumev2alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// The node partitions a disk in one operation, under one lock. The steps of the interface are that operation too, so
// that a driver that takes them one by one succeeds, and no disk is ever overwritten.

// InitializeDisk is PartitionDisk.
func (d DiskAPI) InitializeDisk(diskNumber uint32) error { return d.PartitionDisk(diskNumber) }

// CreateBasicPartition is PartitionDisk.
func (d DiskAPI) CreateBasicPartition(diskNumber uint32) error { return d.PartitionDisk(diskNumber) }

// The reasons for which a disk lists no volumes.
const (
	reasonRaw    = "DISK_RAW"
	reasonNoData = "NO_DATA_PARTITION"
)

// IsDiskInitialized reports whether a disk has a partition table. For an offline disk that is unknown, and an error.
func (d DiskAPI) IsDiskInitialized(diskNumber uint32) (bool, error) {
	reason, err := d.noVolumes(diskNumber)
	return err == nil && reason != reasonRaw, err
}

// BasicPartitionsExist reports whether a disk has a data partition. For an offline disk that is unknown, and an error.
func (d DiskAPI) BasicPartitionsExist(diskNumber uint32) (bool, error) {
	reason, err := d.noVolumes(diskNumber)
	return err == nil && reason == "", err
}

// noVolumes returns the reason why a disk has no volumes: it is raw, or has no data partition; "" if it has volumes.
func (d DiskAPI) noVolumes(diskNumber uint32) (reason string, err error) {
	ctx, client, err := d.at.Client()
	if err != nil {
		return "", err
	}
	_, err = client.Volume.ListVolumesOnDisk(ctx, &volumev2alpha1.ListVolumesOnDiskRequest{DiskNumber: diskNumber})
	if failure := (*csiproxy.Error)(nil); errors.As(err, &failure) &&
		(failure.Reason == reasonRaw || failure.Reason == reasonNoData) {
		return failure.Reason, nil
	}
	return "", err
}
