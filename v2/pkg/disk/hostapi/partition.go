// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"

	volumev2alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
)

// The node partitions a disk in one operation, under one lock. The steps of the interface are that operation too, so
// that a driver that takes them one by one succeeds, and no disk is ever overwritten.

// InitializeDisk is PartitionDisk.
func (d DiskAPI) InitializeDisk(diskNumber uint32) error { return d.PartitionDisk(diskNumber) }

// CreateBasicPartition is PartitionDisk.
func (d DiskAPI) CreateBasicPartition(diskNumber uint32) error { return d.PartitionDisk(diskNumber) }

// IsDiskInitialized reports whether a disk has a partition table. An offline disk that has one is an error.
func (d DiskAPI) IsDiskInitialized(diskNumber uint32) (bool, error) {
	table, _, err := d.partitions(diskNumber)
	return table, err
}

// BasicPartitionsExist reports whether a disk has a data partition. An offline disk with a partition table is an error.
func (d DiskAPI) BasicPartitionsExist(diskNumber uint32) (bool, error) {
	_, data, err := d.partitions(diskNumber)
	return data, err
}

// partitions reports whether a disk has a partition table, and a data partition.
func (d DiskAPI) partitions(diskNumber uint32) (table, data bool, err error) {
	ctx, client, err := d.at.Client()
	if err != nil {
		return false, false, err
	}
	answer, err := client.Volume.ListVolumesOnDisk(ctx,
		&volumev2alpha1.ListVolumesOnDiskRequest{DiskNumber: diskNumber})
	if e := (*csiproxy.Error)(nil); errors.As(err, &e) && e.Reason == reason.NoDataPartition {
		return true, false, nil
	}
	some := len(answer.GetVolumeIds()) > 0
	return some, some, err
}
