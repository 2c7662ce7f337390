// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"strconv"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// resizeSlack is the smallest growth worth making. A requested size that exceeds the maximum by no more than that is
// reduced to the maximum. Partitions are aligned to it.
const resizeSlack = 1 << 20

// ResizeVolume grows a volume's partition to sizeBytes, or as far as the disk allows if that is 0, and its file system
// with it. It never shrinks: a volume that already has the size, or is larger, keeps its size. A file system that an
// interrupted call left smaller than its partition is extended. A size that the disk cannot give is OutOfRange. A volume
// id that consists of digits means the first data volume of that disk.
func (v *Volumes) ResizeVolume(ctx context.Context, volumeID string, sizeBytes int64) error {
	if sizeBytes < 0 {
		return errorf(InvalidArgument, reason.NegativeSize, "size %d is negative", sizeBytes)
	}
	id, err := v.resizeTarget(ctx, volumeID)
	if err != nil {
		return err
	}
	what := on("ResizeVolume", volumeObject(id))
	what.arguments = fmt.Sprintf("%d bytes", sizeBytes)
	what.fresh = true // the disk may have grown after a running call looked
	return v.node.change(ctx, what, func(o *op) error { return o.resizeVolume(id, sizeBytes) })
}

// resizeTarget parses the volume id. One driver passes a disk number.
func (v *Volumes) resizeTarget(ctx context.Context, volumeID string) (winpath.VolumeID, error) {
	if number, err := strconv.ParseUint(volumeID, 10, 32); err == nil {
		names, err := v.ListVolumesOnDisk(ctx, uint32(number), 0)
		if err != nil {
			return winpath.VolumeID{}, err
		}
		volumeID = names[0]
	}
	return parseVolumeID(volumeID)
}

func (o *op) resizeVolume(id winpath.VolumeID, sizeBytes int64) error {
	extent, err := o.singleExtent(id)
	if err != nil {
		return err
	}
	if err := o.lock(diskObject(extent.DiskNumber)); err != nil {
		return err
	}
	d, err := o.openDisk(extent.DiskNumber, readWrite)
	if err != nil {
		return err
	}
	defer d.Close()
	// Disk numbers are reused when disks go. Only an open disk is certain to be the one that is grown.
	if again, err := o.singleExtent(id); err != nil {
		return err
	} else if again.DiskNumber != extent.DiskNumber {
		return errorf(Unavailable, reason.DiskChanged, "volume %s moved from disk %d to disk %d; try again", id, extent.DiskNumber, again.DiskNumber)
	}
	if err := o.sparesVolume(id, "resized"); err != nil {
		return err
	}
	fileSystem, err := o.extensible(id)
	if err != nil {
		return err
	}
	partition, err := d.growPartition(extent.StartingOffset, sizeBytes)
	if err != nil {
		return fail(err, "growing the partition of volume %s on disk %d", id, d.number)
	}
	if fileSystem == "" { // nothing to extend
		return nil
	}
	return o.extendFileSystem(id, partition.Length)
}

// growPartition grows the partition that begins at an offset and returns it as it is afterwards.
func (d *disk) growPartition(offset, wanted int64) (win32.Partition, error) {
	// Windows notices a grown disk at once, but uses the old size until it is told to look.
	if err := d.updateSize(); err != nil {
		return win32.Partition{}, err
	}
	if err := d.updateProperties(); err != nil {
		return win32.Partition{}, err
	}
	layout, partition, err := d.partitionAt(offset)
	if err != nil {
		return win32.Partition{}, err
	}
	if state, err := d.state(); err != nil {
		return win32.Partition{}, err
	} else if !state.writable {
		return win32.Partition{}, errorf(FailedPrecondition, reason.DiskReadOnly, "disk %d is read-only", d.number)
	}
	geometry, err := d.geometry()
	if err != nil {
		return win32.Partition{}, err
	}
	target, err := growthTarget(withDiskSize(layout, geometry), partition, wanted, int64(geometry.BytesPerSector))
	if err != nil || target == partition.Length {
		return partition, err
	}
	if err := d.grow(partition.Number, target-partition.Length); err != nil {
		return win32.Partition{}, err
	}
	if err := d.updateProperties(); err != nil {
		return win32.Partition{}, err
	}
	_, partition, err = d.partitionAt(offset)
	if err == nil && partition.Length < target {
		err = errorf(Internal, reason.NotGrown, "partition %d of disk %d is %d bytes long although Windows reported success in growing it to %d", partition.Number, d.number, partition.Length, target)
	}
	return partition, err
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
	return layout, win32.Partition{}, errorf(NotFound, reason.PartitionNotFound, "disk %d has no partition at byte %d any more", d.number, offset)
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
		return 0, errorf(OutOfRange, reason.SizeOutOfRange, "partition %d can be at most %d bytes long, not %d: grow the disk first", partition.Number, most, wanted)
	case sector > 0:
		target = (wanted + sector - 1) / sector * sector
	}
	target = min(target, most)
	if target < partition.Length+resizeSlack {
		return partition.Length, nil
	}
	return target, nil
}

// extensible returns the name of a volume's file system, or "" for a volume without one. It refuses a file system that
// this agent cannot extend, before the partition is grown.
func (o *op) extensible(id winpath.VolumeID) (string, error) {
	fileSystem, err := o.fileSystem(id)
	if err == nil && fileSystem != "" && fileSystem != "NTFS" {
		err = errorf(FailedPrecondition, reason.CannotExtend, "volume %s holds a %s file system, which cannot be extended; only NTFS can", id, fileSystem)
	}
	return fileSystem, err
}

// extendFileSystem makes the file system fill its partition.
func (o *op) extendFileSystem(id winpath.VolumeID, partitionLength int64) error {
	h, err := o.k.OpenDevice(id.Device(), readWrite)
	if err != nil {
		return fail(err, "opening volume %s to extend it", id)
	}
	defer h.Close()
	size, err := ntfsSize(h)
	if err != nil {
		return fail(err, "reading the size of the file system on volume %s", id)
	}
	if size.full(partitionLength) {
		return nil
	}
	sectors := partitionLength / size.bytesPerSector
	_, err = h.DeviceIoControl(win32.FSCTL_EXTEND_VOLUME, win32.ExtendVolume(sectors), nil)
	if hasCode(err, win32.ERROR_INVALID_PARAMETER) { // perhaps without the last sector, where NTFS keeps its spare boot sector
		_, err = h.DeviceIoControl(win32.FSCTL_EXTEND_VOLUME, win32.ExtendVolume(sectors-1), nil)
	}
	if err != nil {
		return fail(err, "extending the file system on volume %s", id)
	}
	return nil
}

// fileSystemSize is the extent of a file system, from FSCTL_GET_NTFS_VOLUME_DATA.
type fileSystemSize struct {
	bytes, bytesPerSector, bytesPerCluster int64
}

func ntfsSize(h kernel.Handle) (fileSystemSize, error) {
	data, err := query(h, win32.FSCTL_GET_NTFS_VOLUME_DATA, 128, win32.ParseNTFSVolumeData)
	if err != nil {
		return fileSystemSize{}, err
	}
	if data.BytesPerSector == 0 || data.BytesPerCluster == 0 {
		return fileSystemSize{}, fmt.Errorf("sector size %d, cluster size %d", data.BytesPerSector, data.BytesPerCluster)
	}
	return fileSystemSize{
		bytes:           data.NumberSectors * int64(data.BytesPerSector),
		bytesPerSector:  int64(data.BytesPerSector),
		bytesPerCluster: int64(data.BytesPerCluster),
	}, nil
}

// full reports whether the file system fills its partition, but for less than a cluster and the spare boot sector.
func (s fileSystemSize) full(partitionLength int64) bool {
	return partitionLength-s.bytes <= s.bytesPerCluster
}
