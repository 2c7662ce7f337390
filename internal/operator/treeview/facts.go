// SPDX-License-Identifier: Apache-2.0

package treeview

import (
	"cmp"
	"slices"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// Parts returns the parts of an agent's facts that a tree shows.
func Parts() []admin.Part { return []admin.Part{admin.Part_PART_DISKS, admin.Part_PART_VOLUMES} }

// FromFacts makes a tree of an agent's facts: each volume lies on the partition that begins where it does.
func FromFacts(facts *admin.GetFactsResponse) *Tree {
	tree := &Tree{Disks: []Disk{}, Missing: []string{}, Unknown: []string{}}
	noVolume := "" // why it is not known which volume is on a partition
	for _, gap := range facts.GetGaps() {
		if slices.Contains(Parts(), gap.GetAsked()) {
			tree.addUnknown(gap.GetError(), gap.GetUnanswered())
			tree.Silent = append(tree.Silent, gap.GetObject())
		}
		if gap.GetAsked() == admin.Part_PART_VOLUMES {
			noVolume = gap.GetError()
		}
	}
	volumes := map[place]*Volume{}
	for _, v := range facts.GetVolumes() {
		for _, e := range v.GetExtents() {
			volumes[place{e.GetDisk(), e.GetOffsetBytes()}] = volumeOf(v)
		}
	}
	for _, d := range facts.GetDisks() {
		disk := diskOf(d)
		if d.Number == nil {
			tree.addUnknown("a disk: "+disk.Unknown, disk.Unanswered)
			tree.Unnumbered = append(tree.Unnumbered, disk)
			continue
		}
		tree.addUnknown(disk.Unknown, disk.Unanswered)
		for _, p := range d.GetPartitions() {
			partition := partitionOf(p)
			if partition.Volume = volumes[place{d.GetNumber(), p.GetOffsetBytes()}]; partition.Volume != nil {
				tree.addUnknown(partition.Volume.Unknown, partition.Volume.Unanswered)
			} else if d.GetOnline() && p.GetGetsVolume() {
				partition.Unknown = noVolume
			}
			disk.Partitions = append(disk.Partitions, partition)
		}
		slices.SortFunc(disk.Partitions, func(a, b Partition) int { return cmp.Compare(a.OffsetBytes, b.OffsetBytes) })
		tree.Disks = append(tree.Disks, disk)
	}
	if len(tree.Disks) == 0 && len(tree.Unknown) > 0 {
		tree.Disks = nil
	}
	return tree
}

// place is where a partition begins.
type place struct {
	disk   uint32
	offset int64
}

func diskOf(d *admin.Disk) Disk {
	disk := Disk{
		Number: d.GetNumber(), SizeBytes: d.GetSizeBytes(), Style: d.GetStyle(), Unknown: d.GetUnknown(), System: d.System,
		BusType: d.GetBusType(), Adapter: d.GetAdapter(), Bus: d.GetBus(), Target: d.GetTarget(), LUN: d.GetLun(),
		SerialNumber: d.GetSerialNumber(), Page83: d.GetPage83(), Partitions: []Partition{}, Content: d.GetContent(),
		Unanswered: d.GetUnanswered(),
	}
	if disk.Style != "" {
		disk.Online, disk.ReadOnly = new(d.GetOnline()), new(d.GetReadOnly())
	}
	if d.GetTakenOffline() {
		disk.TakenVolumes = append([]string{}, d.GetTakenVolumes()...)
	}
	return disk
}

func partitionOf(p *admin.Partition) Partition {
	return Partition{Number: p.GetNumber(), OffsetBytes: p.GetOffsetBytes(), SizeBytes: p.GetSizeBytes(),
		Kind: p.GetKind(), Attributes: attributesOf(p), GetsVolume: p.GetGetsVolume()}
}

// attributesOf names the attributes of a GPT partition with basic data ("PARTITION_INFORMATION_GPT").
func attributesOf(p *admin.Partition) []string {
	names := []string{}
	for _, a := range []struct {
		bit  uint64
		name string
	}{
		{win32.GPT_BASIC_DATA_ATTRIBUTE_HIDDEN, "hidden"}, {win32.GPT_BASIC_DATA_ATTRIBUTE_READ_ONLY, "read-only"},
		{win32.GPT_BASIC_DATA_ATTRIBUTE_NO_DRIVE_LETTER, "no drive letter"},
	} {
		if p.GetKind() == "basic data" && p.GetGptAttributes()&a.bit != 0 {
			names = append(names, a.name)
		}
	}
	return names
}

func volumeOf(v *admin.Volume) *Volume {
	volume := &Volume{
		ID: v.GetId(), FileSystem: v.GetFileSystem(), Formatted: v.GetFileSystem() != "", Unknown: v.GetUnknown(),
		TotalBytes: v.GetTotalBytes(), UsedBytes: v.GetUsedBytes(), MountPoints: v.GetMountPoints(),
		Unanswered: v.GetUnanswered(),
	}
	if volume.Unknown == "" { // else an empty list is not known
		volume.MountPoints = append([]string{}, v.GetMountPoints()...)
	}
	return volume
}
