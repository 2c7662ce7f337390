// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

// slack is how much smaller a file system may be than its partition, or a partition than its disk, before it counts as
// not grown: alignment and the backup of a partition table take less.
const slack = 16 << 20

// disks judges disks.
func disks(f Facts) []Finding {
	if f.Tree == nil {
		return nil
	}
	var findings []Finding
	for _, d := range f.Tree.Disks {
		findings = append(findings, disk(f, d)...)
	}
	return findings
}

func disk(f Facts, d treeview.Disk) []Finding {
	var findings []Finding
	found := func(severity Severity, check, what string, do ...string) {
		findings = append(findings, Finding{severity, check, fmt.Sprintf("disk %d is %s", d.Number, what),
			append([]string{describe(d)}, mountedAt(d)...), append([]string{}, do...)})
	}
	bring := fmt.Sprintf("csi-proxyctl disk online %d", d.Number)
	switch {
	case d.Online == nil:
	case !*d.Online && d.Style == "RAW":
		found(Note, "disk-offline", "offline and raw: as new disks arrive, before a driver partitions them")
	case !*d.Online && f.Inspected != nil && !slices.ContainsFunc(f.Inspected.GetDangling(), mountPoint):
		found(Note, "disk-offline", "offline, and no mount point misses it: ready to be detached, or about to be staged")
	case !*d.Online:
		found(Warning, "disk-offline", "offline: its volumes cannot be found or mounted", bring)
	case d.ReadOnly != nil && *d.ReadOnly:
		found(Warning, "disk-read-only", "read-only: what pods write to it fails", bring,
			"if it stays so, see how the storage system exports it")
	}
	return append(findings, grown(d)...)
}

func mountPoint(d *admin.Dangling) bool {
	return d.GetKind() == admin.DanglingKind_DANGLING_KIND_MOUNT_POINT
}

// grown finds a disk whose only data partition does not use all of it.
func grown(d treeview.Disk) []Finding {
	if d.Online == nil || !*d.Online || d.System == nil || *d.System {
		return nil
	}
	var volume *treeview.Volume
	end := int64(0)
	for _, p := range d.Partitions {
		end = max(end, p.OffsetBytes+p.SizeBytes)
		if p.Volume == nil || !p.Volume.Formatted {
			continue
		}
		if volume != nil {
			return nil // either volume may be meant to get the space
		}
		volume = p.Volume
	}
	if volume == nil || end == 0 || d.SizeBytes-end <= slack {
		return nil
	}
	return []Finding{{
		Severity: Warning, Check: "partition-smaller",
		What: fmt.Sprintf("disk %d is larger than what its volume uses: it was grown, and the volume was not", d.Number),
		Evidence: []string{fmt.Sprintf("%s: disk %d has %s, its partitions end at %s", volume.ID, d.Number,
			treeview.Size(d.SizeBytes), treeview.Size(end))},
		Do: []string{command("csi-proxyctl volume resize %s", argument{"VOLUME", volume.ID})},
	}}
}

// mountedAt returns where the volumes of a disk are mounted.
func mountedAt(d treeview.Disk) (lines []string) {
	for _, p := range d.Partitions {
		if p.Volume != nil {
			for _, path := range p.Volume.MountPoints {
				lines = append(lines, "mounted at "+path)
			}
		}
	}
	return lines
}

// describe names a disk in the terms by which people recognise it.
func describe(d treeview.Disk) string { return fmt.Sprintf("disk %d: %s", d.Number, d) }
