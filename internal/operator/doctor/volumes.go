// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
)

// slack is how much smaller a file system may be than its partition, or a partition than its disk, before it counts as
// not grown: alignment and the backup of a partition table take less.
const slack = 16 << 20

// grown finds a disk whose only data partition does not use all of it.
func (r *report) grown(d treeview.Disk) {
	end := int64(0)
	for _, p := range d.Partitions {
		end = max(end, p.OffsetBytes+p.SizeBytes)
	}
	formatted := slices.DeleteFunc(d.Volumes(), func(p treeview.Partition) bool { return !p.Volume.Formatted })
	// With two volumes, either may be meant to get the space.
	if !d.IsOnline() || d.System == nil || *d.System || len(formatted) != 1 || end == 0 ||
		d.SizeBytes-end <= slack {
		return
	}
	id := formatted[0].Volume.ID
	r.add(Warning, "partition-smaller",
		fmt.Sprintf("a disk is larger than what its volume uses: disk %d was grown, and the volume was not", d.Number),
		append(said(fmt.Sprintf("%s: disk %d has %s, its partitions end at %s", id, d.Number, treeview.Size(d.SizeBytes),
			treeview.Size(end))), r.usersOf(id)...),
		command("csi-proxyctl volume resize %s", argument{"VOLUME", id}))
}

func (r *report) volumes() {
	for d, p := range r.Tree.Volumes() {
		v := p.Volume
		if v.Formatted && p.SizeBytes > 0 && v.TotalBytes > 0 && p.SizeBytes-v.TotalBytes > slack {
			r.add(Warning, "file-system-smaller",
				fmt.Sprintf("a file system is smaller than its partition: on disk %d, growing it was not completed", d.Number),
				append(said(fmt.Sprintf("%s: file system %s, partition %s", v.ID, treeview.Size(v.TotalBytes),
					treeview.Size(p.SizeBytes))), r.usersOf(v.ID)...),
				command("csi-proxyctl volume resize %s", argument{"VOLUME", v.ID}))
		}
	}
}

// lost judges volumes of which Windows does not tell what is on them. Those of Windows' own partitions are left out.
func (r *report) lost() {
	for d, p := range r.Tree.Volumes() {
		v := p.Volume
		name := r.nameOf(v.ID, append(slices.Clone(v.MountPoints), v.ID)[0]) // people know the path
		evidence := append(describe(d), r.usersOf(v.ID)...)
		switch {
		case p.Kind == "EFI system" || p.Kind == "recovery":
		case v.Unknown != "" && len(v.MountPoints)+len(r.users[v.ID]) > 0 && !v.Unanswered:
			r.add(Problem, "volume-unreadable", "Windows cannot read a mounted volume: "+name,
				append(said(v.Unknown), evidence...),
				systemLog, "do not format it, and take a snapshot of the disk first",
				command("then end its pods: chkdsk %s /scan changes nothing; /f repairs, and may lose files", argument{"PATH",
					append(slices.Clone(v.MountPoints), v.ID)[0]}))
		case v.Unknown != "":
			r.add(Problem, "volume-not-answering", "a volume is there and does not answer: "+name,
				append(said(v.Unknown), evidence...),
				"look at its disk", systemLog,
				"do not format or unmount it meanwhile: the data may be whole")
		case !v.Formatted && len(v.MountPoints) > 0:
			r.add(Problem, "volume-unreadable", "Windows knows no file system on a mounted volume: "+name,
				append(said("volume "+v.ID), evidence...),
				"do not format it: the data may still be whole",
				"restore the file system with a recovery tool, or the disk from a snapshot")
		}
	}
}

// full judges how full the volumes are that something uses, the node's own C: included.
func (r *report) full() {
	const most, nothing = 95, 1 << 20
	for d, p := range r.Tree.Volumes() {
		v := p.Volume
		free := v.TotalBytes - v.UsedBytes
		if v.TotalBytes <= 0 || len(v.MountPoints) == 0 || v.UsedBytes/most < v.TotalBytes/100 {
			continue
		}
		what, do := "a volume", "have files removed, or its PersistentVolumeClaim grown"
		if pv := r.persistentVolumeOf(v.ID); pv != "" {
			do = command("kubectl get pv %s: its claim, which kubectl edit pvc makes larger; or have files removed",
				argument{"VOLUME", pv})
		}
		if d.IsSystem() {
			what, do = "the disk of this node", "see what fills it: images, logs, or what pods wrote to their own layer"
		}
		severity, rest := Warning, " is nearly full: "
		if free < nothing {
			severity, rest = Problem, " is full, and writing fails: "
		}
		evidence := append(said(fmt.Sprintf("%s: %s free of %s", v.ID, treeview.Size(free),
			treeview.Size(v.TotalBytes))), describe(d)...)
		r.add(severity, "volume-full", what+rest+r.nameOf(v.ID, v.MountPoints[0]), append(evidence, r.usersOf(v.ID)...), do)
	}
}
