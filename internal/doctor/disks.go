// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"maps"
	"regexp"
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

// attributes judges the attributes of partitions by which Windows hides a volume or lets none write to it.
func (r *report) attributes() {
	for _, d := range r.allDisks() {
		for _, p := range d.Partitions {
			for _, a := range p.Unusual() {
				r.add(Warning, "partition-attribute",
					fmt.Sprintf("partition %d of disk %d is %s: %s", p.Number, d.Number, a, map[string]string{
						"hidden": "Windows shows no volume of it", "read-only": "what pods write to its volume fails"}[a]),
					append(describe(d), "it has a GPT attribute, as in a snapshot by VSS or a storage array"),
					fmt.Sprintf("if pods are to write to it, in diskpart: select disk %d, select partition %d, "+
						"gpt attributes=0x8000000000000000", d.Number, p.Number), "then attach the disk again")
			}
		}
	}
}

// identities finds disks that drivers cannot tell apart: each of several has the same serial number or page 83.
func (r *report) identities() {
	disks := map[string][]treeview.Disk{}
	for _, d := range r.allDisks() {
		for name, id := range map[string]string{"serial number ": d.SerialNumber, "page 83 ": d.Page83} {
			if id != "" {
				disks[name+id] = append(disks[name+id], d)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(disks)) {
		if len(disks[id]) < 2 {
			continue
		}
		var evidence []string
		for _, d := range disks[id] {
			evidence = append(evidence, describe(d)...)
		}
		r.add(Note, "same-identity", "disks have the same "+id+": a driver that looks for it may take the wrong one",
			evidence, "see how the storage system names its disks; a clone has the identity of its source there")
	}
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

// staged matches kubelet's path at which a CSI driver stages a volume, with the driver's name.
// https://github.com/kubernetes/kubernetes/blob/v1.34.0/pkg/volume/csi/csi_attacher.go, makeDeviceMountPath
var staged = regexp.MustCompile(`(?i)\\plugins\\kubernetes\.io\\csi\\([^\\]+)\\[^\\]+\\globalmount\\?$`)

// below matches paths below kubelet's directory.
var below = regexp.MustCompile(`(?i)\\kubelet\\`)

// owners judges who uses the disks: several CSI drivers on one node, or something that is none.
func (r *report) owners() {
	disks := map[string][]string{} // by driver
	for _, d := range r.allDisks() {
		if d.System != nil && *d.System {
			continue
		}
		drivers, elsewhere := users(d)
		for _, driver := range drivers {
			disks[driver] = append(disks[driver], fmt.Sprint(d.Number))
		}
		if len(drivers) > 1 {
			r.add(Warning, "disk-of-two-drivers",
				fmt.Sprintf("disk %d is staged by several CSI drivers: %s", d.Number, strings.Join(drivers, ", ")), describe(d),
				"find out which of them the disk belongs to: one of them has taken another's, or did not unstage it")
		}
		if len(drivers) == 0 && elsewhere {
			r.add(Note, "disk-not-of-kubernetes",
				fmt.Sprintf("disk %d is used outside kubelet's directory: it belongs to something that is no CSI driver",
					d.Number), describe(d))
		}
	}
	if len(disks) > 1 {
		var evidence []string
		for _, driver := range slices.Sorted(maps.Keys(disks)) {
			evidence = append(evidence, driver+": disk "+strings.Join(disks[driver], ", "))
		}
		r.add(Note, "several-drivers", "several CSI drivers have disks on this node: each must find its own by serial "+
			"number, page 83 or address, never by being new or blank", evidence)
	}
}

// users returns the CSI drivers that stage volumes of a disk, and whether it has a mount point that is not kubelet's.
func users(d treeview.Disk) (drivers []string, elsewhere bool) {
	for _, p := range d.Volumes() {
		for _, path := range p.Volume.MountPoints {
			if of := staged.FindStringSubmatch(path); of != nil {
				drivers = append(drivers, of[1])
			} else if !below.MatchString(path) {
				elsewhere = true
			}
		}
	}
	slices.Sort(drivers)
	return slices.Compact(drivers), elsewhere
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
