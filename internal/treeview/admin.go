// SPDX-License-Identifier: Apache-2.0

package treeview

import (
	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
)

// FromAdmin returns the tree that an admin endpoint sent.
func FromAdmin(from *admin.GetTreeResponse) *Tree {
	tree := &Tree{Disks: []Disk{}, Missing: []string{}}
	for _, d := range from.GetDisks() {
		online, readOnly, system := d.GetOnline(), d.GetReadOnly(), d.GetSystem()
		disk := Disk{
			Number: d.GetNumber(), SizeBytes: d.GetSizeBytes(), Style: d.GetStyle(),
			Online: &online, ReadOnly: &readOnly, System: &system,
			BusType: d.GetBusType(), Adapter: d.GetAdapter(), Bus: d.GetBus(), Target: d.GetTarget(), LUN: d.GetLun(),
			SerialNumber: d.GetSerialNumber(), Page83: d.GetPage83(), Partitions: []Partition{},
		}
		for _, p := range d.GetPartitions() {
			partition := Partition{Number: p.GetNumber(), OffsetBytes: p.GetOffsetBytes(),
				SizeBytes: p.GetSizeBytes(), Kind: p.GetKind()}
			if v := p.GetVolume(); v != nil {
				partition.Volume = &Volume{
					ID: v.GetId(), FileSystem: v.GetFileSystem(), Formatted: v.GetFileSystem() != "",
					TotalBytes: v.GetTotalBytes(), UsedBytes: v.GetUsedBytes(), MountPoints: append([]string{}, v.GetMountPoints()...),
				}
			}
			disk.Partitions = append(disk.Partitions, partition)
		}
		tree.Disks = append(tree.Disks, disk)
	}
	return tree
}
