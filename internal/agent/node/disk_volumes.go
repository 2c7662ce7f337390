// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	api "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// ListVolumesOnDisk returns the volume names of a disk or partition, as the proto says. One driver looks for the empty
// list before it partitions; others index the list unchecked. It brings volumes online and is a change: the same
// driver, democratic-csi, calls nothing else on a disk that has a volume before it asks for the file system.
func (v *Volumes) ListVolumesOnDisk(ctx context.Context,
	r *api.ListVolumesOnDiskRequest) (*api.ListVolumesOnDiskResponse, error) {
	what := operation.On("ListVolumesOnDisk", operation.Disk(r.GetDiskNumber()))
	what.Arguments = fmt.Sprintf("partition %d", r.GetPartitionNumber())
	return run(ctx, v.node, what,
		asking(r.GetDiskNumber(), func(o *op, d *disk) (*api.ListVolumesOnDiskResponse, error) {
			names, err := o.listVolumesOnDisk(d, r.GetPartitionNumber())
			return &api.ListVolumesOnDiskResponse{VolumeIds: names}, err
		}))
}

func (o *op) listVolumesOnDisk(d *disk, partition uint32) ([]string, error) {
	partitions, err := d.partitionsWithVolumes(partition)
	if err != nil || len(partitions) == 0 {
		return nil, err
	}
	volumes, err := o.awaitVolumes(d, partitions)
	if err != nil {
		return nil, err
	}
	if len(volumes) == 0 {
		return nil, errdefs.FailedPrecondition.Errorf(reason.NoVolume, "disk %d has no volume there%s", d.number,
			hiddenOf(partitions))
	}
	names := make([]string, len(volumes))
	for i, volume := range volumes {
		names[i] = volume.id.String()
	}
	return names, nil
}

// partitionsWithVolumes returns a disk's partitions, or the requested one, that have volumes while the disk is online.
func (d *disk) partitionsWithVolumes(partition uint32) ([]win32.Partition, error) {
	state, err := d.state()
	if err != nil {
		return nil, err
	}
	layout, err := d.layout()
	if err != nil {
		return nil, err
	}
	raw := hasNoTable(layout)
	if raw && partition == 0 {
		return nil, nil
	}
	partitions := volumePartitions(layout)
	if partition != 0 && !raw {
		if !slices.ContainsFunc(layout.Partitions,
			func(p win32.Partition) bool { return p.Number == partition && p.Length > 0 }) {
			return nil, errdefs.NotFound.Errorf(reason.PartitionNotFound, "disk %d has no partition %d", d.number, partition)
		}
		partitions = slices.DeleteFunc(partitions, func(p win32.Partition) bool { return p.Number != partition })
	}
	switch {
	case !state.online:
		return nil, errdefs.FailedPrecondition.Errorf(reason.DiskOffline,
			"disk %d is offline and has no volumes; bring it online with SetDiskState", d.number)
	case raw:
		return nil, errdefs.FailedPrecondition.Errorf(reason.DiskRaw,
			"disk %d has no partition table; make one with PartitionDisk", d.number)
	case len(partitions) == 0 && partition != 0:
		return nil, errdefs.FailedPrecondition.Errorf(reason.NoVolume,
			"partition %d of disk %d is of a kind that has no volume", partition, d.number)
	case partition == 0 && !slices.ContainsFunc(partitions, isDataPartition):
		return nil, errdefs.FailedPrecondition.Errorf(reason.NoDataPartition, "disk %d has no data partition%s", d.number,
			kindsOf(layout))
	}
	return partitions, nil
}

// hiddenOf says for an error which partition Windows makes no volume of, "" for none.
func hiddenOf(partitions []win32.Partition) string {
	for _, p := range partitions {
		switch {
		case isHidden(p):
			return fmt.Sprintf(": its partition %d is hidden, by an attribute in its partition table", p.Number)
		case p.Style == win32.PARTITION_STYLE_MBR && !p.Recognized:
			return fmt.Sprintf(": its partition %d is %s; is it the right disk?", p.Number, partitionKind(p))
		}
	}
	return ""
}

func isHidden(p win32.Partition) bool {
	return p.Style == win32.PARTITION_STYLE_GPT && p.Type == win32.PartitionBasicData &&
		p.Attributes&win32.GPT_BASIC_DATA_ATTRIBUTE_HIDDEN != 0
}

// kindsOf says for an error what the partitions of a disk are, "" for those that Windows makes itself.
func kindsOf(layout win32.DriveLayout) string {
	var kinds []string
	for _, p := range layout.Partitions {
		if p.IsData() {
			kinds = append(kinds, fmt.Sprintf("partition %d is %s", p.Number, partitionKind(p)))
		}
	}
	if kinds == nil {
		return ""
	}
	return ": " + strings.Join(kinds, ", ") + "; is it the right disk?"
}

func isDataPartition(p win32.Partition) bool {
	if p.Style == win32.PARTITION_STYLE_GPT {
		return p.Type == win32.PartitionBasicData
	}
	const extended, extendedLBA = 0x05, 0x0f
	return p.MBRType != 0 && p.MBRType != extended && p.MBRType != extendedLBA
}

// getsVolume reports whether Windows is sure to make a volume of a partition of an online disk. On an MBR disk that
// needs a type that it recognises, which those of dynamic disks and other systems may not have. On a GPT disk, a hidden
// partition or one that the platform requires gets none ("PARTITION_INFORMATION_GPT").
func getsVolume(p win32.Partition) bool {
	if p.Style == win32.PARTITION_STYLE_GPT {
		const excluded = win32.GPT_BASIC_DATA_ATTRIBUTE_HIDDEN | win32.GPT_ATTRIBUTE_PLATFORM_REQUIRED
		return isDataPartition(p) && p.Attributes&excluded == 0
	}
	return isDataPartition(p) && p.Recognized
}

// volumePartitions returns the partitions that have volumes: data partitions first, then by number.
func volumePartitions(layout win32.DriveLayout) []win32.Partition {
	var partitions []win32.Partition
	for _, p := range layout.Partitions {
		hasVolume := isDataPartition(p)
		if p.Style == win32.PARTITION_STYLE_GPT {
			hasVolume = hasVolume || p.Type == win32.PartitionEFISystem || p.Type == win32.PartitionRecovery
		}
		if hasVolume && p.Length > 0 {
			partitions = append(partitions, p)
		}
	}
	slices.SortStableFunc(partitions, func(a, b win32.Partition) int {
		if isDataPartition(a) == isDataPartition(b) {
			return cmp.Compare(a.Number, b.Number)
		}
		if isDataPartition(a) {
			return -1
		}
		return 1
	})
	return partitions
}

// diskVolume is a volume with its position on the disk.
type diskVolume struct {
	id     winpath.VolumeID
	extent win32.DiskExtent
}

// volumesOn lists the volumes with an extent on a disk. One that reports none, such as a CD-ROM drive, is on no disk.
// Offline means that some do not report theirs and may be offline.
func (o *op) volumesOn(number uint32) (volumes []diskVolume, offline bool, err error) {
	ids, err := o.volumeIDs()
	for i, a := range forEach(o, ids, operation.Volume, (*op).volumeExtents) {
		if a.Err != nil {
			o.log().V(4).Info("A volume does not report where it lies", "volume", ids[i], "err", a.Err)
			offline = offline || errdefs.HasCode(a.Err, win32.ERROR_NOT_READY)
			errdefs.LeftOut(o.run.Context, a.Err)
		}
		for _, extent := range a.Value {
			if extent.DiskNumber == number {
				volumes = append(volumes, diskVolume{ids[i], extent})
			}
		}
	}
	return volumes, offline, err
}

// volumesOf lists the volumes of a disk by its partitions, and asks all volumes only if some are not found so.
// Unanswered is a partition whose volume has to be there and does not answer; one that is offline cannot be mounted.
func (o *op) volumesOf(d *disk) (volumes []diskVolume, unanswered *win32.Partition, err error) {
	layout, err := d.layout()
	if err != nil {
		return nil, nil, err
	}
	partitions := volumePartitions(layout)
	dynamic := slices.ContainsFunc(layout.Partitions, isDynamic)
	if !dynamic {
		for _, a := range o.partitionVolumes(d.number, partitions) {
			if a.Err == nil {
				volumes = append(volumes, a.Value)
			}
		}
		if len(volumes) == len(partitions) {
			return volumes, nil, nil
		}
	}
	volumes, offline, err := o.volumesOn(d.number)
	if !dynamic && !offline {
		_, unanswered = volumesAt(d.number, partitions, volumes)
	}
	return volumes, unanswered, err
}

// isDynamic reports whether a partition is one of a dynamic disk, whose volumes begin anywhere in it.
func isDynamic(p win32.Partition) bool {
	return p.Style == win32.PARTITION_STYLE_GPT &&
		(p.Type == win32.PartitionLDMData || p.Type == win32.PartitionLDMMetadata)
}

func (o *op) volumeNames() ([]string, error) {
	names, err := o.kernel.VolumeNames()
	return names, errdefs.Errorf(err, "listing the volumes")
}

func (o *op) volumeIDs() ([]winpath.VolumeID, error) {
	names, err := o.volumeNames()
	if err != nil {
		return nil, err
	}
	var ids []winpath.VolumeID
	for _, name := range names {
		id, err := winpath.ParseVolumeID(name)
		if err != nil {
			o.log().Info("Windows lists a volume under an unexpected name", "name", name)
			continue
		}
		ids = append(ids, id)
	}
	return ids, nil
}
