// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// Tree is the storage of a node at one moment: disks, their partitions, the volumes on these, and where they are
// mounted. It is a report for people. A fact that Windows did not give is marked as unknown, because people format a
// volume that has no file system.
type Tree struct {
	Disks   []TreeDisk // by number
	Unknown []string   // what belongs to no disk of the tree and why it is not known, one sentence each
}

// TreeDisk is one disk of a Tree.
type TreeDisk struct {
	Unknown      string // why all but its number is not known; empty: it is known
	Number       uint32
	SizeBytes    int64
	Style        string // RAW, GPT or MBR
	Online       bool
	ReadOnly     bool
	System       bool // Windows runs from it
	BusType      string
	Adapter      string // the SCSI address; its parts are empty when there is none
	Bus          string
	Target       string
	LUN          string
	SerialNumber string
	Page83       string
	Partitions   []TreePartition // by offset
}

// TreePartition is one partition of a TreeDisk.
type TreePartition struct {
	Number      uint32
	OffsetBytes int64
	SizeBytes   int64
	Kind        string // "basic data", "Microsoft Reserved", "EFI system"
	Attributes  []string
	Unknown     string // why it is not known which volume is on it; empty: Volume, or none
	Volume      *TreeVolume

	GetsVolume bool // when its disk is online
}

// TreeVolume is the volume on a partition.
type TreeVolume struct {
	Unknown     string // why what is empty below is not known; empty: it is known
	ID          string
	FileSystem  string // empty when Windows recognises none
	TotalBytes  int64
	UsedBytes   int64
	MountPoints []string // directories and drive letters, sorted
}

// Tree reads the storage of the node. It is too costly for polling: it asks every disk and volume.
func (n *Node) Tree(ctx context.Context) (*Tree, error) {
	return read(ctx, n, operation.On("Tree"), func(o *op) (*Tree, error) { return o.tree() })
}

func (o *op) tree() (*Tree, error) {
	tree := &Tree{}
	volumes, lost := o.treeVolumes()
	windows, err := o.systemUse()
	if err != nil {
		tree.addUnknown("which disk is the system's", err)
	}
	found, unknown, err := everyDisk(o, func(o *op, d *disk) (treeDisk, error) { return o.treeDisk(d) })
	if err != nil {
		return nil, err
	}
	places := []diskAnswer[*diskPlace]{}
	for _, disk := range found {
		branch := disk.value.TreeDisk
		branch.System = windows.useOf(branch.Number) == runsFrom
		tree.Disks = append(tree.Disks, branch)
		places = append(places, diskAnswer[*diskPlace]{disk.number, disk.value.place})
	}
	for _, d := range unknown {
		switch {
		case errdefs.IsMissing(d.err): // it has gone meanwhile
		case d.number < 0:
			tree.addUnknown("a disk", d.err)
		default:
			tree.Disks = append(tree.Disks, TreeDisk{Number: uint32(d.number), Unknown: d.err.Error()})
		}
	}
	slices.SortFunc(tree.Disks, func(a, b TreeDisk) int { return cmp.Compare(a.Number, b.Number) })
	o.attachLocations(tree, places)
	o.attachVolumes(tree, volumes)
	if lost != nil {
		tree.addUnknown("on which partition a volume lies", lost)
		tree.lose(lost)
	}
	return tree, nil
}

func (t *Tree) addUnknown(what string, why error) {
	t.Unknown = append(t.Unknown, what+": "+why.Error())
}

// lose marks the partitions that may have a volume whose place is not known.
func (t *Tree) lose(why error) {
	for i := range t.Disks {
		for j := range t.Disks[i].Partitions {
			p := &t.Disks[i].Partitions[j]
			if t.Disks[i].Online && p.GetsVolume && p.Volume == nil {
				p.Unknown = why.Error()
			}
		}
	}
}

// treeVolumes lists the extents of all volumes. Lost is the reason why some are not known, or nil.
func (o *op) treeVolumes() (volumes []diskVolume, lost error) {
	listed := forEach(o, []string{"the list of volumes"}, operation.VolumeDevice,
		func(o *op, _ string) ([]winpath.VolumeID, error) { return o.volumeIDs() })[0]
	if listed.Err != nil {
		return nil, listed.Err
	}
	for i, a := range forEach(o, listed.Value, operation.Volume, (*op).volumeExtents) {
		if errdefs.HasReason(a.Err, reason.NotAnswering) {
			lost = a.Err
		}
		for _, extent := range a.Value {
			volumes = append(volumes, diskVolume{listed.Value[i], extent})
		}
	}
	return volumes, lost
}

// treeDisk is a disk, and the facts that decide about its address; nil: it has none.
type treeDisk struct {
	TreeDisk
	place *diskPlace
}

// treeDisk reads a disk and its partitions, without their volumes.
func (o *op) treeDisk(d *disk) (branch treeDisk, err error) {
	geometry, err := d.geometry()
	if err != nil {
		return branch, err
	}
	state, err := d.state()
	if err != nil {
		return branch, err
	}
	layout, err := d.layout()
	if err != nil {
		return branch, err
	}
	ids := d.ids(o.run.Context)
	branch.TreeDisk = TreeDisk{
		Number: d.number, SizeBytes: geometry.DiskSize, Style: layout.Style.String(), Online: state.online,
		ReadOnly:     d.isReadOnly(state),
		SerialNumber: ids.SerialNumber, Page83: ids.Page83,
	}
	if device, err := d.storageDevice(); err == nil {
		branch.BusType = busTypeName(device.BusType)
		if location, err := d.location(); err == nil {
			branch.place = &diskPlace{location, device.BusType, layout}
		}
	}
	for _, p := range layout.Partitions {
		if p.Length > 0 {
			branch.Partitions = append(branch.Partitions, TreePartition{
				Number: p.Number, OffsetBytes: p.StartingOffset, SizeBytes: p.Length, Kind: partitionKind(p),
				Attributes: attributesOf(p), GetsVolume: getsVolume(p),
			})
		}
	}
	slices.SortFunc(branch.Partitions,
		func(a, b TreePartition) int { return cmp.Compare(a.OffsetBytes, b.OffsetBytes) })
	return branch, nil
}

// attachLocations gives the disks the addresses that ListDiskLocations has for them, without a withheld LUN.
func (o *op) attachLocations(tree *Tree, places []diskAnswer[*diskPlace]) {
	locations, err := o.withLUNs(places)
	if err != nil {
		tree.addUnknown("the addresses of the disks", err)
	}
	for i := range tree.Disks {
		d, at := &tree.Disks[i], locations[tree.Disks[i].Number]
		d.Adapter, d.Bus, d.Target, d.LUN = at.Adapter, at.Bus, at.Target, at.LUNID
	}
}

// attachVolumes attaches the volumes to their partitions.
func (o *op) attachVolumes(tree *Tree, volumes []diskVolume) {
	partitions := map[diskOffset]*TreePartition{}
	for i := range tree.Disks {
		for j := range tree.Disks[i].Partitions {
			p := &tree.Disks[i].Partitions[j]
			partitions[diskOffset{tree.Disks[i].Number, p.OffsetBytes}] = p
		}
	}
	for i, a := range forEach(o, volumes, func(v diskVolume) operation.Object { return operation.Volume(v.id) },
		func(o *op, v diskVolume) (*TreeVolume, error) { return o.treeVolume(v.id), nil }) {
		p := partitions[diskOffset{volumes[i].extent.DiskNumber, volumes[i].extent.StartingOffset}]
		switch {
		case p == nil: // its disk has come or gone meanwhile
		case a.Err != nil:
			p.Volume = &TreeVolume{ID: volumes[i].id.String(), Unknown: a.Err.Error()}
		default:
			p.Volume = a.Value
		}
	}
}

func (o *op) treeVolume(id winpath.VolumeID) *TreeVolume {
	volume := &TreeVolume{ID: id.String()}
	unknown := func(err error) {
		if err != nil {
			volume.Unknown = err.Error()
		}
	}
	var err error
	volume.FileSystem, err = o.fileSystem(id)
	unknown(err)
	if volume.FileSystem != "" {
		stats, err := o.volumeStats(id)
		volume.TotalBytes, volume.UsedBytes = stats.TotalBytes, stats.UsedBytes
		unknown(err)
	}
	if volume.MountPoints, err = o.kernel.VolumePathNames(id.String()); err != nil {
		unknown(errdefs.Errorf(err, "asking where volume %s is mounted", id))
	}
	volume.MountPoints = slices.DeleteFunc(volume.MountPoints, o.isStale)
	slices.Sort(volume.MountPoints)
	return volume
}

// partitionKind names the purpose of a partition.
func partitionKind(p win32.Partition) string {
	if p.Style != win32.PARTITION_STYLE_GPT {
		return fmt.Sprintf("MBR type 0x%02x", p.MBRType)
	}
	switch p.Type {
	case win32.PartitionBasicData:
		return "basic data"
	case win32.PartitionMSR:
		return "Microsoft Reserved"
	case win32.PartitionEFISystem:
		return "EFI system"
	case win32.PartitionRecovery:
		return "recovery"
	case win32.PartitionLDMMetadata, win32.PartitionLDMData:
		return "dynamic disk"
	default:
		return "type " + p.Type.String()
	}
}

// attributesOf names the attributes of a GPT partition with basic data ("PARTITION_INFORMATION_GPT").
func attributesOf(p win32.Partition) (names []string) {
	if p.Style != win32.PARTITION_STYLE_GPT || p.Type != win32.PartitionBasicData {
		return nil
	}
	for _, a := range []struct {
		bit  uint64
		name string
	}{
		{win32.GPT_BASIC_DATA_ATTRIBUTE_HIDDEN, "hidden"}, {win32.GPT_BASIC_DATA_ATTRIBUTE_READ_ONLY, "read-only"},
		{win32.GPT_BASIC_DATA_ATTRIBUTE_NO_DRIVE_LETTER, "no drive letter"},
	} {
		if p.Attributes&a.bit != 0 {
			names = append(names, a.name)
		}
	}
	return names
}

// busTypeName names the bus of a disk (STORAGE_BUS_TYPE).
func busTypeName(busType uint32) string {
	switch busType {
	case win32.BusTypeScsi:
		return "SCSI"
	case win32.BusTypeiScsi:
		return "iSCSI"
	case win32.BusTypeSas:
		return "SAS"
	case win32.BusTypeSata:
		return "SATA"
	case win32.BusTypeVirtual:
		return "virtual"
	case win32.BusTypeFileBackedVirtual:
		return "file-backed virtual"
	case win32.BusTypeSpaces:
		return "Storage Spaces"
	case win32.BusTypeNvme:
		return "NVMe"
	default:
		return fmt.Sprintf("bus type %d", busType)
	}
}
