// SPDX-License-Identifier: Apache-2.0

package node

import (
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// resizeSlack is the smallest growth worth making. A requested size that exceeds the maximum by no more than that is
// reduced to the maximum. Partitions are aligned to it.
const resizeSlack = 1 << 20

// growPartition grows the partition at an offset and returns it as it is afterwards. The layers of Windows learn of a
// disk's new size one after the other, and the partition cannot grow before the last one has. If it never grows,
// Windows' storage management is asked: it has its own ways, and extends the file system as well.
func (o *op) growPartition(d *disk, offset, wanted int64) (win32.Partition, error) {
	var p operation.Backoff
	for {
		partition, target, err := d.growthOf(offset, wanted)
		if err != nil || target == partition.Length {
			return partition, err
		}
		err = d.grow(partition.Number, target-partition.Length)
		if errdefs.HasCode(err, win32.ERROR_INVALID_PARAMETER) {
			if p.Wait(growTime) {
				continue
			}
			err = o.byProvider(err, func() error {
				return o.kernel.ResizePartition(d.number, partition.StartingOffset, target)
			})
		}
		if err != nil {
			return win32.Partition{}, err
		}
		return d.grown(offset, target)
	}
}

// grown returns a partition that Windows has grown, as it is now.
func (d *disk) grown(offset, target int64) (win32.Partition, error) {
	if err := d.updateProperties(); err != nil {
		return win32.Partition{}, err
	}
	_, partition, err := d.partitionAt(offset)
	if err == nil && partition.Length < target {
		err = errdefs.Internal.Errorf(reason.NotGrown,
			"partition %d of disk %d is %d bytes long although Windows reported success in growing it to %d", partition.Number,
			d.number, partition.Length, target)
	}
	return partition, err
}

// growthOf makes Windows look at the disk again. It returns the partition at an offset, and the partition's new length.
func (d *disk) growthOf(offset, wanted int64) (partition win32.Partition, target int64, err error) {
	// Windows notices a grown disk at once, but uses the old size until it is told to look.
	if err := d.updateSize(); err != nil {
		return partition, 0, err
	}
	if err := d.updateProperties(); err != nil {
		return partition, 0, err
	}
	layout, partition, err := d.partitionAt(offset)
	if err != nil {
		return partition, 0, err
	}
	if state, err := d.state(); err != nil {
		return partition, 0, err
	} else if !state.writable {
		return partition, 0, errdefs.FailedPrecondition.Errorf(reason.DiskReadOnly, "disk %d is read-only", d.number)
	}
	geometry, err := d.geometry()
	if err != nil {
		return partition, 0, err
	}
	target, err = growthTarget(withDiskSize(layout, geometry), partition, wanted, int64(geometry.BytesPerSector))
	return partition, target, err
}

func (d *disk) partitionAt(offset int64) (win32.DriveLayout, win32.Partition, error) {
	layout, err := d.layout()
	if err != nil {
		return layout, win32.Partition{}, err
	}
	for _, p := range layout.Partitions {
		if p.StartingOffset == offset && p.Length > 0 {
			return layout, p, nil
		}
	}
	return layout, win32.Partition{},
		errdefs.NotFound.Errorf(reason.PartitionNotFound, "disk %d has no partition at byte %d any more", d.number, offset)
}

// withDiskSize extends the usable area of a layout as far as the disk's size allows: Windows may move the backup table
// of a GPT only when the partition grows, and reports no usable area for an MBR, which ends at 2^32 sectors.
func withDiskSize(layout win32.DriveLayout, geometry win32.DiskGeometryEx) win32.DriveLayout {
	sector := int64(geometry.BytesPerSector)
	if sector <= 0 {
		return layout
	}
	end := geometry.DiskSize / sector * sector
	switch layout.Style {
	case win32.PARTITION_STYLE_GPT:
		entries := (int64(layout.MaxPartitionCount)*128 + sector - 1) / sector * sector
		end -= sector + entries
	case win32.PARTITION_STYLE_MBR:
		end = min(end, sector<<32)
	default:
		return layout
	}
	layout.UsableLength = max(layout.UsableLength, end-layout.StartingUsableOffset)
	return layout
}

// growthTarget returns the new length of a partition, which is the present one if there is nothing to do.
func growthTarget(layout win32.DriveLayout, partition win32.Partition, wanted, sector int64) (int64, error) {
	most := win32.MaxLength(layout, partition)
	target := wanted
	switch {
	case wanted == 0:
		target = most
	case wanted <= partition.Length:
		return partition.Length, nil
	case wanted > most+resizeSlack:
		return 0, errdefs.OutOfRange.Errorf(reason.SizeOutOfRange,
			"partition %d can be at most %d bytes long, not %d: grow the disk first", partition.Number, most, wanted)
	case sector > 0:
		target = (wanted + sector - 1) / sector * sector
	}
	target = min(target, most)
	if target < partition.Length+resizeSlack {
		return partition.Length, nil
	}
	return target, nil
}
