// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
)

func (r *report) disks() {
	for _, d := range r.Tree.Disks {
		name, bring := fmt.Sprintf(": disk %d", d.Number), fmt.Sprintf("csi-proxyctl disk online %d", d.Number)
		switch {
		case mayBeMissed(d) && r.Seen == nil:
			r.add(Warning, "disk-offline", "a disk is offline, and its volumes cannot be found or mounted"+name,
				describe(d), bring)
		case d.IsOffline(): // as new disks arrive, or as a driver leaves one that is to be detached
			if missed := r.missed(d.TakenVolumes...); len(missed) > 0 && d.TakenVolumes != nil {
				r.add(Problem, "disk-offline", "a disk is offline, and a mounted volume is on it"+name,
					append(describe(d), missed...), bring)
			}
		case d.IsReadOnly():
			severity, users := Warning, r.podsOn(d)
			if len(users) > 0 {
				severity = Problem
			}
			evidence := append(describe(d), users...)
			r.add(severity, "disk-read-only", "a disk is read-only, and what pods write to it fails"+name, evidence,
				bring+": clears the attribute that Windows keeps",
				"if it stays so, the device refuses: see how the storage system exports it, then delete the pod")
		}
		r.grown(d)
	}
	if r.Seen != nil {
		r.offlineOrGone()
	}
}

// offlineOrGone judges the mount points that miss their volumes while disks are offline of which it is not known what
// was on them: which of two causes it is, only their identifiers tell.
func (r *report) offlineOrGone() {
	disks := slices.DeleteFunc(slices.Clone(r.Tree.Disks), func(d treeview.Disk) bool { return !mayBeMissed(d) })
	missed := r.missed()
	if len(disks) == 0 || len(missed) == 0 {
		return
	}
	number := "its number"
	if len(disks) == 1 {
		number = fmt.Sprint(disks[0].Number)
	}
	for _, d := range disks {
		missed = append(missed, describe(d)...)
	}
	r.add(Problem, "disk-offline", "a mounted volume is missing: its disk is offline, or was detached", missed,
		"csi-proxyctl disk list -o wide: whether the volume's disk is there and offline",
		"if it is: csi-proxyctl disk online "+number, "if not: "+whereAttached, "attach it again, then "+deletePod)
}

// mayBeMissed reports whether a disk may have the volume of a mount point that misses its volume, which does not name
// the disk. Of one that the agent took offline, it knows the volumes.
func mayBeMissed(d treeview.Disk) bool {
	return d.IsOffline() && d.Style != "RAW" && d.TakenVolumes == nil
}

// mayBeDamaged reports whether a disk may have been one of Windows', whose partition table is damaged.
func mayBeDamaged(d treeview.Disk) bool { return d.Content != "" && !ofOthers.MatchString(d.Content) }

// ofOthers matches contents that Windows never makes.
var ofOthers = regexp.MustCompile("ext2|Btrfs|XFS|Linux|LUKS|LVM|VMFS")

// orElsewhere returns the step for the other cause of mount points that miss their volumes.
func orElsewhere(missed []Evidence) []string {
	if len(missed) == 0 {
		return nil
	}
	return []string{"if the missing volume is on another disk: " + whereAttached}
}

// isHidden reports whether Windows hides the volume of a partition.
func isHidden(p treeview.Partition) bool { return slices.Contains(p.Attributes, "hidden") }

// missed returns the mount points that miss their volumes, with the pods that use them: of these volumes, or else of
// those that are on no disk that the agent took offline.
func (r *report) missed(volumes ...string) (lines []Evidence) {
	for _, l := range r.Seen.GetLinks() {
		if !missesVolume(l) || len(volumes) > 0 && !slices.Contains(volumes, l.GetTarget()) ||
			len(volumes) == 0 && r.taken(l.GetTarget()) {
			continue
		}
		lines = append(lines, said("missing: the volume at "+l.GetPath()+" → "+l.GetTarget())...)
		lines = append(lines, r.usersOf(l.GetTarget())...)
	}
	return lines
}

// unplaced returns the mount points whose volumes are on none of the disks that tell their partitions, with the pods
// that use them: they may be on one that does not answer.
func (r *report) unplaced() (lines []Evidence) {
	placed := map[string]bool{}
	for _, p := range r.Tree.Volumes() {
		placed[p.Volume.ID] = true
	}
	for _, l := range r.Seen.GetLinks() {
		if l.GetKind() == admin.Target_TARGET_VOLUME && !l.GetMissing() && !placed[l.GetTarget()] {
			lines = append(lines, said("perhaps on it: the volume at "+l.GetPath())...)
			lines = append(lines, r.usersOf(l.GetTarget())...)
		}
	}
	return lines
}

// taken reports whether a volume is on a disk that the agent took offline.
func (r *report) taken(volume string) bool {
	return slices.ContainsFunc(r.Tree.Disks,
		func(d treeview.Disk) bool { return slices.Contains(d.TakenVolumes, volume) })
}

// noneGone reports whether a missing volume may be on a disk that is there or behind a session that is lost: none is
// called gone before those are repaired.
func (r *report) noneGone() bool {
	return slices.ContainsFunc(r.Tree.Disks,
		func(d treeview.Disk) bool {
			return mayBeMissed(d) || d.Unknown != "" || mayBeDamaged(d) || slices.ContainsFunc(d.Partitions, isHidden)
		}) ||
		len(r.Tree.Unnumbered) > 0 ||
		slices.ContainsFunc(r.Seen.GetSessions(), func(s *admin.ISCSISession) bool { return !s.GetConnected() })
}

// contents judges disks that are there and cannot be used.
func (r *report) contents() {
	for _, d := range r.Tree.Unnumbered {
		r.content("its number is not known", d)
	}
	for _, d := range r.Tree.Disks {
		r.content(fmt.Sprintf("disk %d", d.Number), d)
	}
}

func (r *report) content(name string, d treeview.Disk) {
	missed := r.missed()
	if d.Unanswered {
		missed = append(missed, r.unplaced()...)
	}
	switch {
	case d.Unanswered && len(r.Unanswered)+len(r.unknown()) > 0: // as one of many, in the first finding
	case d.Unknown != "" && len(missed) == 0 && !d.Unanswered:
		r.add(Note, "disk-not-answering", "what a disk holds is not known: "+name, said(d.Unknown),
			"a reader of cards without a card is in order; if a driver uses the disk, look at its storage system")
	case d.Unknown != "":
		severity := Warning
		if len(missed) > 0 {
			severity = Problem
		}
		r.add(severity, "disk-not-answering", "a disk is there and does not answer: "+name,
			append(said(d.Unknown), missed...),
			append([]string{"look at the storage system and the path to it", systemLog,
				"unmount nothing meanwhile: the disk may come back with all data",
				"if it answers elsewhere and not here: drain and restart the node"}, orElsewhere(r.missed())...)...)
	case mayBeDamaged(d) && len(missed) > 0:
		r.add(Problem, "disk-unreadable", "a disk holds data and no partition table that Windows can read: "+name,
			append(said(name+": "+d.Content), missed...),
			append([]string{"do not partition or format it: the data may still be whole",
				"restore the table with a recovery tool, or the disk from a snapshot"}, orElsewhere(missed)...)...)
	case d.Content != "" || foreign(d) != "":
		r.addCase("", Warning, "disk-not-blank",
			name+" holds "+cmp.Or(d.Content, foreign(d))+" that Windows cannot use: no driver can stage it",
			append(describe(d), said("no driver partitions a disk that is not blank: its pods go on waiting")...),
			whereAttached, "if its content is for Linux: detach it there, and run its pod on a Linux node",
			fmt.Sprintf("if its owner does not need the content, and the serial number is its volume's, in diskpart: "+
				"select disk %d, clean all, which erases it for good", d.Number))
	}
}

// foreign names the partitions of an online disk on which there are only those of Linux; "" for any other disk.
func foreign(d treeview.Disk) string {
	var kinds []string
	for _, p := range d.Partitions {
		switch {
		case p.Kind == "Microsoft Reserved" || p.Number == 0:
		case p.Volume == nil && strings.HasPrefix(p.Kind, "Linux"):
			kinds = append(kinds, p.Kind)
		default:
			return ""
		}
	}
	if !d.IsOnline() || d.System == nil || *d.System || len(kinds) == 0 {
		return ""
	}
	return "partitions (" + strings.Join(slices.Compact(kinds), ", ") + ")"
}

// attributes judges the attributes of partitions by which Windows hides a volume or lets none write to it.
func (r *report) attributes() {
	for _, d := range r.Tree.Disks {
		for _, p := range d.Partitions {
			for _, a := range p.Unusual() {
				severity, users, again := Warning, r.podsOn(d), "then attach the disk again"
				if a == "hidden" {
					users = r.missed()
				}
				if len(users) > 0 {
					severity, again = Problem, again+", and "+deletePod
				}
				r.add(severity, "partition-attribute",
					fmt.Sprintf("a partition is %s, and %s: partition %d of disk %d", a, map[string]string{
						"hidden": "Windows shows no volume of it", "read-only": "pods cannot write to it"}[a],
						p.Number, d.Number),
					slices.Concat(describe(d), users, said("it has a GPT attribute, as in a snapshot by VSS or a storage array")),
					fmt.Sprintf("if pods are to write to it, in diskpart: select disk %d, select partition %d, "+
						"gpt attributes=0x8000000000000000", d.Number, p.Number), again)
			}
		}
	}
}

// identities finds disks that drivers cannot tell apart: each of several has the same serial number or page 83.
func (r *report) identities() {
	disks := map[string][]treeview.Disk{}
	for _, d := range r.Tree.Disks {
		for name, id := range map[string]string{"serial number ": d.SerialNumber, "page 83 ": d.Page83} {
			if id != "" {
				disks[name+id] = append(disks[name+id], d)
			}
		}
	}
	type shared struct {
		disks []treeview.Disk
		ids   []string
	}
	var all []shared
	for _, id := range slices.Sorted(maps.Keys(disks)) {
		if len(disks[id]) < 2 {
			continue
		}
		same := func(s shared) bool {
			return slices.EqualFunc(s.disks, disks[id], func(a, b treeview.Disk) bool { return a.Number == b.Number })
		}
		if at := slices.IndexFunc(all, same); at >= 0 {
			all[at].ids = append(all[at].ids, id)
		} else {
			all = append(all, shared{disks[id], []string{id}})
		}
	}
	for _, s := range all {
		var evidence []Evidence
		for _, d := range s.disks {
			evidence = slices.Concat(evidence, describe(d), r.podsOn(d))
		}
		r.add(Note, "same-identity", "a driver may take the wrong one of disks with the same identity: "+
			strings.Join(s.ids, " and "), evidence,
			whereAttached, "a clone has the identity of its source: the storage system knows which one it is")
	}
}

// podsOn names what uses the volumes of a disk.
func (r *report) podsOn(d treeview.Disk) (lines []Evidence) {
	for _, p := range d.Volumes() {
		lines = append(lines, r.usersOf(p.Volume.ID)...)
	}
	return lines
}

// describe names a disk in the terms by which people recognise it, and where its volumes are mounted.
func describe(d treeview.Disk) []Evidence {
	lines := said(fmt.Sprintf("disk %d: %s", d.Number, d))
	for _, p := range d.Volumes() {
		for _, path := range p.Volume.MountPoints {
			lines = append(lines, said("mounted at "+path)...)
		}
	}
	return lines
}

// usesISCSI reports whether the node has an iSCSI disk.
func (r *report) usesISCSI() bool { return slices.ContainsFunc(r.Tree.Disks, isISCSI) }

func isISCSI(d treeview.Disk) bool { return strings.EqualFold(d.BusType, "iSCSI") }
