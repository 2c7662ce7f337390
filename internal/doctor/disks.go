// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

// slack is how much smaller a file system may be than its partition, or a partition than its disk, before it counts as
// not grown: alignment and the backup of a partition table take less.
const slack = 16 << 20

// allDisks returns the disks of the node, as far as they are known.
func (r *report) allDisks() []treeview.Disk {
	if r.Tree == nil {
		return nil
	}
	return r.Tree.Disks
}

// disks judges disks.
func (r *report) disks() {
	for _, d := range r.allDisks() {
		found := func(severity Severity, check, what string, do ...string) {
			r.add(severity, check, fmt.Sprintf("disk %d is %s", d.Number, what), describe(d), do...)
		}
		bring := fmt.Sprintf("csi-proxyctl disk online %d", d.Number)
		switch {
		case d.Online == nil:
		case !*d.Online && d.Style == "RAW":
			found(Note, "disk-offline", "offline and raw: as new disks arrive, before a driver partitions them")
		case !*d.Online && r.Inspected != nil && !slices.ContainsFunc(r.Inspected.GetDangling(), mountPoint):
			found(Note, "disk-offline", "offline, and no mount point misses it: ready to be detached, or about to be staged")
		case !*d.Online:
			found(Warning, "disk-offline", "offline: its volumes cannot be found or mounted", bring)
		case d.ReadOnly != nil && *d.ReadOnly:
			found(Warning, "disk-read-only", "read-only: what pods write to it fails", bring,
				"if it stays so, see how the storage system exports it")
		}
		r.grown(d)
	}
}

func mountPoint(d *admin.Dangling) bool {
	return d.GetKind() == admin.DanglingKind_DANGLING_KIND_MOUNT_POINT
}

// grown finds a disk whose only data partition does not use all of it.
func (r *report) grown(d treeview.Disk) {
	end := int64(0)
	for _, p := range d.Partitions {
		end = max(end, p.OffsetBytes+p.SizeBytes)
	}
	formatted := slices.DeleteFunc(d.Volumes(), func(p treeview.Partition) bool { return !p.Volume.Formatted })
	// With two volumes, either may be meant to get the space.
	if d.Online == nil || !*d.Online || d.System == nil || *d.System || len(formatted) != 1 || end == 0 ||
		d.SizeBytes-end <= slack {
		return
	}
	id := formatted[0].Volume.ID
	r.add(Warning, "partition-smaller",
		fmt.Sprintf("disk %d is larger than what its volume uses: it was grown, and the volume was not", d.Number),
		[]string{fmt.Sprintf("%s: disk %d has %s, its partitions end at %s", id, d.Number, treeview.Size(d.SizeBytes),
			treeview.Size(end))},
		command("csi-proxyctl volume resize %s", argument{"VOLUME", id}))
}

// volumes judges volumes with a file system.
func (r *report) volumes() {
	for _, d := range r.allDisks() {
		for _, p := range d.Volumes() {
			v := p.Volume
			if v.Formatted && v.MountPoints != nil && len(v.MountPoints) == 0 {
				r.add(Note, "volume-not-mounted",
					fmt.Sprintf("a volume of disk %d is mounted nowhere: it is about to be staged, or was left behind", d.Number),
					[]string{v.ID, describe(d)[0]})
			}
			if v.Formatted && p.SizeBytes > 0 && v.TotalBytes > 0 && p.SizeBytes-v.TotalBytes > slack {
				r.add(Warning, "file-system-smaller",
					fmt.Sprintf("a file system of disk %d is smaller than its partition: growing it was not completed", d.Number),
					[]string{fmt.Sprintf("%s: file system %s, partition %s", v.ID, treeview.Size(v.TotalBytes),
						treeview.Size(p.SizeBytes))},
					command("csi-proxyctl volume resize %s", argument{"VOLUME", v.ID}))
			}
		}
	}
}

// describe names a disk in the terms by which people recognise it, and where its volumes are mounted.
func describe(d treeview.Disk) []string {
	lines := []string{fmt.Sprintf("disk %d: %s", d.Number, d)}
	for _, p := range d.Volumes() {
		for _, path := range p.Volume.MountPoints {
			lines = append(lines, "mounted at "+path)
		}
	}
	return lines
}

// usesISCSI reports whether the node has an iSCSI disk.
func (r *report) usesISCSI() bool {
	return slices.ContainsFunc(r.allDisks(), func(d treeview.Disk) bool { return strings.EqualFold(d.BusType, "iSCSI") })
}
