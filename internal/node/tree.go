// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// Tree is the storage of a node at one moment: disks, their partitions, the volumes on those, and where they are
// mounted. It is a report for people; what could not be read is left empty.
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
	Adapter      string // the SCSI address; empty parts when there is none
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

// Tree reads the storage of the node. It is not for polling: it asks every disk and volume.
func (n *Node) Tree(ctx context.Context) (*Tree, error) {
	return read(ctx, n.calls, "Tree", func(o *op) (*Tree, error) {
		tree := &Tree{}
		err := o.eachDisk(func(d *disk) error {
			branch, err := o.treeDisk(d)
			if err == nil {
				tree.Disks = append(tree.Disks, branch)
			}
			return err
		})
		slices.SortFunc(tree.Disks, func(a, b TreeDisk) int { return cmp.Compare(a.Number, b.Number) })
		return tree, err
	})
}

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
	ids := d.ids(o.ctx)
	branch := TreeDisk{
		Number: d.number, SizeBytes: geometry.DiskSize, Style: layout.Style.String(), Online: state.online, ReadOnly: !state.writable,
		SerialNumber: ids.SerialNumber, Page83: ids.Page83,
	}
	if branch.System, err = o.isSystemDisk(d.number); err != nil {
		o.skipped("the system disk is not known", err)
	}
	if device, err := d.storageDevice(); err == nil {
		branch.BusType = busTypeName(device.BusType)
	}
	if location, err := d.location(); err == nil {
		branch.Adapter, branch.Bus, branch.Target, branch.LUN = location.Adapter, location.Bus, location.Target, location.LUNID
	}
	volumes, err := o.volumesOn(d.number)
	if err != nil {
		o.skipped(fmt.Sprintf("the volumes of disk %d are not known", d.number), err)
	}
	for _, p := range layout.Partitions {
		if p.Length > 0 {
			branch.Partitions = append(branch.Partitions, o.treePartition(p, volumes))
		}
	}
	slices.SortFunc(branch.Partitions, func(a, b TreePartition) int { return cmp.Compare(a.OffsetBytes, b.OffsetBytes) })
	return branch, nil
}

func (o *op) treePartition(p win32.Partition, volumes []diskVolume) TreePartition {
	branch := TreePartition{Number: p.Number, OffsetBytes: p.StartingOffset, SizeBytes: p.Length, Kind: partitionKind(p)}
	i := slices.IndexFunc(volumes, func(v diskVolume) bool { return v.extent.StartingOffset == p.StartingOffset })
	if i < 0 {
		return branch
	}
	id := volumes[i].id
	volume := &TreeVolume{ID: id.String()}
	branch.Volume = volume
	fileSystem, err := o.fileSystem(id)
	if err != nil {
		o.skipped("a file system is not known", err)
	}
	volume.FileSystem = fileSystem
	if stats, err := o.volumeStats(id); err == nil {
		volume.TotalBytes, volume.UsedBytes = stats.TotalBytes, stats.UsedBytes
	}
	if volume.MountPoints, err = o.k.VolumePathNames(id.String()); err != nil {
		o.skipped("the mount points of a volume are not known", err)
	}
	slices.Sort(volume.MountPoints)
	return branch
}

func (o *op) skipped(what string, err error) {
	klog.FromContext(o.ctx).Info("The tree is incomplete: "+what, "err", err)
}
