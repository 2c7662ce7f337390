// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/Microsoft/go-winio/pkg/guid"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// Tree reads the storage of the node at one moment: disks, their partitions, the volumes on these, and where they are
// mounted. It is a report for people. A fact that Windows did not give is marked as unknown, because people format a
// volume that has no file system. It is too costly for polling: it asks every disk and volume.
func (n *Node) Tree(ctx context.Context) (*api.GetTreeResponse, error) {
	return read(ctx, n, operation.On("Tree"), func(o *op) (*api.GetTreeResponse, error) { return o.tree() })
}

func (o *op) tree() (*api.GetTreeResponse, error) {
	tree := &api.GetTreeResponse{}
	addUnknown := func(what string, why error) {
		if why != nil {
			tree.Unknown = append(tree.Unknown, what+": "+why.Error())
		}
	}
	volumes, lost := o.treeVolumes()
	windows, err := aside(o, "the disk that Windows runs from", (*op).systemUse)
	if err == nil {
		o.windows = &windows
	}
	addUnknown("which disk is the system's, and the addresses of the disks", err)
	paths, err := aside(o, "the list of disks", (*op).diskInterfaces)
	addUnknown("which disks there are", err)
	found, unknown := disksAt(o, paths, func(o *op, d *disk) (treeDisk, error) { return o.treeDisk(d) })
	places := []diskAnswer[*diskPlace]{}
	for _, disk := range found {
		disk.value.System = windows.useOf(disk.number) == runsFrom
		tree.Disks = append(tree.Disks, disk.value.Disk)
		places = append(places, diskAnswer[*diskPlace]{disk.number, disk.value.place})
	}
	for _, d := range unknown {
		switch {
		case errdefs.IsMissing(d.err): // it has gone meanwhile
		case d.number < 0:
			addUnknown("a disk", d.err)
		default:
			tree.Disks = append(tree.Disks, &api.Disk{Number: uint32(d.number), Unknown: d.err.Error()})
		}
	}
	slices.SortFunc(tree.Disks, func(a, b *api.Disk) int { return cmp.Compare(a.GetNumber(), b.GetNumber()) })
	if o.windows != nil && len(places) > 0 {
		locations, err := o.withLUNs(places)
		addUnknown("the addresses of the disks", err)
		for _, d := range tree.GetDisks() {
			at := locations[d.GetNumber()]
			d.Adapter, d.Bus, d.Target, d.Lun = at.Adapter, at.Bus, at.Target, at.LUNID
		}
	}
	o.attachVolumes(tree, volumes)
	for _, why := range lost {
		addUnknown("on which partition a volume lies", why)
		for _, disk := range found {
			for _, p := range disk.value.awaited {
				if disk.value.GetOnline() && p.GetVolume() == nil {
					p.Unknown = why.Error()
				}
			}
		}
	}
	return tree, nil
}

// treeVolumes lists the extents of all volumes. Lost has the reasons why some are not known.
func (o *op) treeVolumes() (volumes []diskVolume, lost []error) {
	ids, err := aside(o, "the list of volumes", (*op).volumeIDs)
	if err != nil {
		return nil, []error{err}
	}
	for i, a := range forEach(o, ids, operation.Volume, (*op).volumeExtents) {
		if errdefs.HasReason(a.Err, reason.NotAnswering) {
			lost = append(lost, a.Err)
		}
		for _, extent := range a.Value {
			volumes = append(volumes, diskVolume{ids[i], extent})
		}
	}
	return volumes, lost
}

// treeDisk is a disk of the tree, with facts that the tree does not show.
type treeDisk struct {
	*api.Disk
	place   *diskPlace       // decides about its address; nil: it has none
	awaited []*api.Partition // those that get a volume while the disk is online
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
	branch.Disk = &api.Disk{
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
		if p.Length == 0 {
			continue
		}
		shown := &api.Partition{Number: p.Number, OffsetBytes: p.StartingOffset, SizeBytes: p.Length,
			Kind: partitionKind(p), Attributes: attributesOf(p)}
		branch.Partitions = append(branch.Partitions, shown)
		if getsVolume(p) {
			branch.awaited = append(branch.awaited, shown)
		}
	}
	slices.SortFunc(branch.Partitions,
		func(a, b *api.Partition) int { return cmp.Compare(a.GetOffsetBytes(), b.GetOffsetBytes()) })
	return branch, nil
}

// attachVolumes attaches the volumes to their partitions.
func (o *op) attachVolumes(tree *api.GetTreeResponse, volumes []diskVolume) {
	type place struct {
		disk   uint32
		offset int64
	}
	partitions := map[place]*api.Partition{}
	for _, d := range tree.GetDisks() {
		for _, p := range d.GetPartitions() {
			partitions[place{d.GetNumber(), p.GetOffsetBytes()}] = p
		}
	}
	for i, a := range forEach(o, volumes, func(v diskVolume) operation.Object { return operation.Volume(v.id) },
		func(o *op, v diskVolume) (*api.Volume, error) { return o.treeVolume(v.id), nil }) {
		p := partitions[place{volumes[i].extent.DiskNumber, volumes[i].extent.StartingOffset}]
		switch {
		case p == nil: // its disk has come or gone meanwhile
		case a.Err != nil:
			p.Volume = &api.Volume{Id: volumes[i].id.String(), Unknown: a.Err.Error()}
		default:
			p.Volume = a.Value
		}
	}
}

func (o *op) treeVolume(id winpath.VolumeID) *api.Volume {
	volume := &api.Volume{Id: id.String()}
	unknown := func(err error) {
		if err != nil {
			volume.Unknown = err.Error()
		}
	}
	var err error
	volume.FileSystem, err = o.fileSystem(id)
	unknown(err)
	if volume.GetFileSystem() != "" {
		stats, err := o.volumeStats(id)
		volume.TotalBytes, volume.UsedBytes = stats.Total, stats.Used
		unknown(err)
	}
	if volume.MountPoints, err = o.kernel.VolumePathNames(id.String()); err != nil {
		unknown(errdefs.Errorf(err, "asking where volume %s is mounted", id))
	}
	volume.MountPoints = slices.DeleteFunc(volume.GetMountPoints(), o.isStale)
	slices.Sort(volume.GetMountPoints())
	return volume
}

const mbrLinux, mbrLVM = 0x83, 0x8e

// partitionKind names the purpose of a partition.
func partitionKind(p win32.Partition) string {
	if p.Style != win32.PARTITION_STYLE_GPT {
		switch p.MBRType {
		case mbrLinux, mbrLVM:
			return fmt.Sprintf("Linux, MBR type 0x%02x", p.MBRType)
		case 0x11, 0x14, 0x16, 0x17, 0x1b, 0x1c, 0x1e: // pt-mbr-partnames.h of util-linux
			return fmt.Sprintf("hidden, MBR type 0x%02x", p.MBRType)
		}
		return fmt.Sprintf("MBR type 0x%02x", p.MBRType)
	}
	names := map[guid.GUID]string{
		win32.PartitionBasicData: "basic data", win32.PartitionMSR: "Microsoft Reserved",
		win32.PartitionEFISystem: "EFI system", win32.PartitionRecovery: "recovery",
		win32.PartitionLDMMetadata: "dynamic disk", win32.PartitionLDMData: "dynamic disk",
	}
	linux := map[string]string{ // pt-gpt-partnames.h of util-linux
		"0fc63daf-8483-4772-8e79-3d69d8477de4": "Linux filesystem", "e6d6d379-f507-44c2-a23c-238f2a3df928": "Linux LVM",
		"a19d880f-05fc-4d3b-a006-743f0f84911e": "Linux RAID", "0657fd6d-a4ab-43c4-84e5-0933c84b4f4f": "Linux swap",
	}
	return cmp.Or(names[p.Type], linux[p.Type.String()], "type "+p.Type.String())
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
	names := map[uint32]string{
		win32.BusTypeScsi: "SCSI", win32.BusTypeiScsi: "iSCSI", win32.BusTypeSas: "SAS", win32.BusTypeSata: "SATA",
		win32.BusTypeFibre: "Fibre Channel", win32.BusTypeUsb: "USB", win32.BusTypeRAID: "RAID", win32.BusTypeAta: "ATA",
		win32.BusTypeVirtual: "virtual", win32.BusTypeFileBackedVirtual: "file-backed virtual",
		win32.BusTypeSpaces: "Storage Spaces", win32.BusTypeNvme: "NVMe",
	}
	return cmp.Or(names[busType], fmt.Sprintf("bus type %d", busType))
}
