// SPDX-License-Identifier: Apache-2.0

package node

import (
	"slices"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// awaitVolumes returns the volumes of the given partitions, in the same order. It waits for the volumes that Windows
// makes of data partitions, and brings these online; other partitions without a volume are left out.
func (o *op) awaitVolumes(d *disk, partitions []win32.Partition) ([]diskVolume, error) {
	volumes, err := o.arrivedVolumes(d, partitions)
	if err != nil {
		return nil, err
	}
	for _, v := range volumes {
		// Volumes of Windows' own partitions are ignored.
		if slices.ContainsFunc(partitions,
			func(p win32.Partition) bool { return isDataPartition(p) && p.StartingOffset == v.extent.StartingOffset }) {
			err := o.bringDeviceOnline(operation.Volume(v.id), v.id.Device(), d.number, v.extent.StartingOffset)
			if err != nil {
				return nil, err
			}
		}
	}
	return volumes, nil
}

// listPause is the time after which all volumes are asked for one that has not arrived, and again each time.
const listPause = time.Second

// arrivedVolumes is awaitVolumes without bringing the volumes online.
func (o *op) arrivedVolumes(d *disk, partitions []win32.Partition) ([]diskVolume, error) {
	var p operation.Backoff
	list := time.Now().Add(listPause)
	for {
		all := time.Now().After(list)
		if all {
			list = time.Now().Add(listPause)
		}
		found, late, offline, err := o.searchVolumes(d.number, partitions, all)
		if err != nil || late == nil {
			return found, err
		}
		if offline {
			if err := o.bringPartitionOnline(d, late.StartingOffset); err != nil {
				return nil, err
			}
		}
		// Ask the disk itself, so that the wait ends early if the disk has gone.
		if _, err := d.attributes(); err != nil {
			return nil, errdefs.Errorf(err, "waiting for the volume of partition %d of disk %d", late.Number, d.number)
		}
		if !p.Wait(volumeTime) {
			return nil, errdefs.DeadlineExceeded.Errorf(reason.VolumeNotArrived,
				"the volume of partition %d of disk %d has not arrived within %v", late.Number, d.number, volumeTime)
		}
	}
}

// searchVolumes looks for the volumes of a disk's partitions, by asking each partition. Late is a partition whose
// volume has not arrived, nil if there is none; offline means that this volume may be there, but offline. All volumes
// of the node are asked if a partition leads to no volume, as that of a spanned one, and with all if one is late.
func (o *op) searchVolumes(disk uint32, partitions []win32.Partition, all bool) (found []diskVolume,
	late *win32.Partition, offline bool, err error) {
	for i, a := range o.partitionVolumes(disk, partitions) {
		switch p := partitions[i]; {
		case a.Err == nil:
			found = append(found, a.Value)
		case errdefs.HasReason(a.Err, reason.StillRunning):
			return nil, nil, false, a.Err // the caller has left
		case getsVolume(p) && isLate(a.Err):
			late = &p
			offline = offline || errdefs.HasCode(a.Err, win32.ERROR_NOT_READY)
		default:
			o.log().V(4).Info("A partition does not lead to its volume", "disk", disk, "partition", p.Number, "err", a.Err)
			all = true
		}
	}
	if len(found) == len(partitions) || !all {
		return found, late, offline, nil
	}
	named := len(found)
	present, offline, err := o.volumesOn(disk)
	if found, late = volumesAt(disk, partitions, present); len(found) > named {
		o.log().Info("Volumes of a disk were found only among all volumes, which takes long on a node with many",
			"disk", disk)
	}
	return found, late, offline, err
}

// volumesAt returns the volumes of a disk's partitions, and a partition that lacks its volume, or nil.
func volumesAt(disk uint32, partitions []win32.Partition, present []diskVolume) (found []diskVolume,
	late *win32.Partition) {
	for _, partition := range partitions {
		i := slices.IndexFunc(present, func(v diskVolume) bool {
			return v.extent.DiskNumber == disk && v.extent.StartingOffset == partition.StartingOffset
		})
		if i >= 0 {
			found = append(found, present[i])
		} else if getsVolume(partition) {
			late = &partition
		}
	}
	return found, late
}
