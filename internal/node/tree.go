// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// Tree is the storage of a node at one moment: disks, their partitions, the volumes on these, and where they are
// mounted. It is a report for people; facts that could not be read are left empty.
type Tree struct {
	Disks []TreeDisk // by number
}

// TreeDisk is one disk of a Tree.
type TreeDisk struct {
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
	Volume      *TreeVolume
}

// TreeVolume is the volume on a partition.
type TreeVolume struct {
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
	volumes, err := o.volumes()
	if err != nil {
		o.skipped("the volumes are not known", err)
	}
	system, err := o.systemDisks(volumes)
	if err != nil {
		o.skipped("the system disk is not known", err)
	}
	found, err := eachDisk(o, func(o *op, d *disk) (TreeDisk, error) { return o.treeDisk(d) })
	tree := &Tree{}
	for _, disk := range found {
		branch := disk.value
		branch.System = slices.Contains(system, branch.Number)
		tree.Disks = append(tree.Disks, branch)
	}
	slices.SortFunc(tree.Disks, func(a, b TreeDisk) int { return cmp.Compare(a.Number, b.Number) })
	o.attachLocations(tree)
	o.attachVolumes(tree, volumes)
	return tree, err
}

// systemDisks returns the disks that Windows runs from, found by the extents of all volumes.
func (o *op) systemDisks(volumes []diskVolume) ([]uint32, error) {
	id, err := o.SystemVolume()
	var disks []uint32
	for _, v := range volumes {
		if v.id == id {
			disks = append(disks, v.extent.DiskNumber)
		}
	}
	return disks, err
}

// treeDisk reads a disk and its partitions, without their volumes.
func (o *op) treeDisk(d *disk) (TreeDisk, error) {
	geometry, err := d.geometry()
	if err != nil {
		return TreeDisk{}, err
	}
	state, err := d.state()
	if err != nil {
		return TreeDisk{}, err
	}
	layout, err := d.layout()
	if err != nil {
		return TreeDisk{}, err
	}
	ids := d.ids(o.Context)
	branch := TreeDisk{
		Number: d.number, SizeBytes: geometry.DiskSize, Style: layout.Style.String(), Online: state.online,
		ReadOnly:     d.isReadOnly(state),
		SerialNumber: ids.SerialNumber, Page83: ids.Page83,
	}
	if device, err := d.storageDevice(); err == nil {
		branch.BusType = busTypeName(device.BusType)
	}
	for _, p := range layout.Partitions {
		if p.Length > 0 {
			branch.Partitions = append(branch.Partitions, TreePartition{
				Number: p.Number, OffsetBytes: p.StartingOffset, SizeBytes: p.Length, Kind: partitionKind(p),
				Attributes: attributesOf(p),
			})
		}
	}
	slices.SortFunc(branch.Partitions,
		func(a, b TreePartition) int { return cmp.Compare(a.OffsetBytes, b.OffsetBytes) })
	return branch, nil
}

// attachLocations gives the disks the addresses that ListDiskLocations has for them, without a withheld LUN.
func (o *op) attachLocations(tree *Tree) {
	locations, err := o.diskLocations()
	if err != nil {
		o.skipped("the addresses of the disks are not known", err)
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
			p.Volume = &TreeVolume{ID: volumes[i].id.String()}
		default:
			p.Volume = a.Value
		}
	}
}

func (o *op) treeVolume(id winpath.VolumeID) *TreeVolume {
	volume := &TreeVolume{ID: id.String()}
	fileSystem, err := o.fileSystem(id)
	if err != nil {
		o.skipped("a file system is not known", err)
	}
	volume.FileSystem = fileSystem
	if stats, err := o.volumeStats(id); err == nil {
		volume.TotalBytes, volume.UsedBytes = stats.TotalBytes, stats.UsedBytes
	}
	if volume.MountPoints, err = o.Kernel.VolumePathNames(id.String()); err != nil {
		o.skipped("the mount points of a volume are not known", err)
	}
	volume.MountPoints = slices.DeleteFunc(volume.MountPoints, o.isStale)
	slices.Sort(volume.MountPoints)
	return volume
}

func (o *op) skipped(what string, err error) {
	klog.FromContext(o.Context).Info("The tree is incomplete: "+what, "err", err)
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
