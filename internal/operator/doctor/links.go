// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
)

// deletePod is the step that has a volume staged again where a pod uses it.
const (
	deletePod     = "kubectl delete pod -n NAMESPACE POD: for the next one, kubelet has the driver stage the volume again"
	whereAttached = "kubectl get volumeattachment: which volumes Kubernetes has attached to this node"
)

// Where Windows logs what it meets with disks and file servers. Windows Server Core has no Event Viewer.
const (
	systemLog = "errors of devices: Get-WinEvent System -MaxEvents 500 | ? ProviderName -Match 'disk|stor|ntfs|iscsi'"
	smbLog    = "errors of the SMB client: Get-WinEvent Microsoft-Windows-SmbClient/Connectivity -MaxEvents 50"
)

// dangling judges mount points and links that lead nowhere. What a pod uses is a problem, and only its end helps.
func (r *report) dangling() {
	for _, d := range r.danglingLinks() {
		pod := podOf(d.GetPath())
		if len(pod) == 0 && d.GetKind() == admin.Target_TARGET_SHARE {
			pod = r.podsThrough(d)
		}
		at, evidence := argument{"PATH", d.GetPath()}, append(said(d.GetPath()+" → "+d.GetTarget()), pod...)
		remove := command("csi-proxyctl fs rmdir %s", at)
		severity := Warning
		if len(pod) > 0 {
			severity, remove = Problem, "if the pod is gone: "+remove
		}
		switch {
		case missesVolume(d):
			if r.taken(d.GetTarget()) || r.noneGone() { // else the findings about those disks and sessions name the mount point
				continue
			}
			r.gone(d, evidence, at)
		case d.GetKind() == admin.Target_TARGET_SHARE && len(pod) > 0:
			r.add(severity, "dangling-share-link", "the share of a volume is not mapped: "+
				r.nameOf(d.GetTarget(), d.GetPath()), evidence, deletePod, remove)
		case d.GetKind() == admin.Target_TARGET_SHARE:
			r.add(severity, "dangling-share-link", "the share behind a link is not mapped: "+d.GetPath(),
				evidence, "if pods use it: restart them, so that kubelet has the driver map it again",
				"if nothing uses it: "+remove)
		case isStaged(d.GetEndsAt()) && !d.GetMissing():
			r.add(Problem, "link-to-system-disk",
				"a pod writes to the system disk: nothing is mounted where its volume should be, "+volumeOf(d.GetPath()), evidence,
				command(`robocopy %s C:\saved /E /COPYALL: the pod wrote this, and the volume lacks it`, argument{"PATH",
					d.GetEndsAt()}), "then "+deletePod,
				"if staging then reports files: move them away, and delete nothing; the owner merges them into the volume")
		case len(pod) > 0 && isStaged(d.GetTarget()):
			r.add(severity, "dangling-link", "kubelet's globalmount of a volume was removed: "+volumeOf(d.GetPath()),
				evidence, deletePod, remove)
		case len(pod) > 0:
			r.add(severity, "dangling-link", "a link of a pod leads nowhere: "+volumeOf(d.GetPath()), evidence,
				deletePod, remove)
		default:
			r.add(severity, "dangling-link", "a link leads nowhere: "+d.GetPath(), evidence, remove)
		}
	}
}

// gone judges a mount point whose disk is gone.
func (r *report) gone(d *admin.Link, evidence []Evidence, at argument) {
	unmount := command("if nothing uses it: csi-proxyctl volume unmount %s %s", argument{"VOLUME", d.GetTarget()}, at)
	attach, again := "if pods still use the volume: attach the disk again", []string{"attach the disk again"}
	if len(r.Portals) > 0 && len(r.Seen.GetSessions()) == 0 {
		portal := argument{"PORTAL", r.Portals[0]}
		again = []string{command("if it is an iSCSI disk: csi-proxyctl iscsi portal discover %s", portal),
			command("and csi-proxyctl iscsi login %s TARGET", portal), "if it is none: attach the disk again"}
		evidence = append(evidence, said("no iSCSI session, and registered portals: "+strings.Join(r.Portals, ", "))...)
	}
	for _, s := range r.Services { // without it the node has no iSCSI disk, and no list of portals
		if isInitiator(s) && s.Status != "running" {
			again = append(again, "if it is an iSCSI disk: "+strings.Join(startService(s), "; "))
		}
	}
	check, what := "dangling-mount-point",
		"the disk of a mounted volume is gone: nothing is at "+d.GetPath()
	if isStaged(d.GetPath()) || len(podOf(d.GetPath())) > 0 {
		published := slices.ContainsFunc(r.users[d.GetTarget()], func(u user) bool { return slices.Contains(u.way, d) })
		if published {
			r.add(Problem, check, "the disk of a mounted volume is gone: "+r.nameOf(d.GetTarget(), d.GetPath()),
				slices.Concat(evidence, missingIn(evidence, r.usersOf(d.GetTarget())), r.blank()),
				append(append([]string{whereAttached}, again...), "when it is back, "+deletePod)...)
			return
		}
		r.add(Problem, "left-over-globalmount", "kubelet's mount point of a gone disk was left over: "+d.GetPath(),
			evidence, attach, unmount, // https://github.com/kubernetes/kubernetes/issues/130300
			`until then a pod with the volume may wait here: "exists but is not a directory"`)
		return
	}
	r.add(Problem, check, what, evidence, attach, unmount)
}

// blank names the disks without anything on them: none is the one that is gone.
func (r *report) blank() (lines []Evidence) {
	const most = 3
	for _, d := range r.Tree.Disks {
		if d.Style == "RAW" && d.Content == "" {
			lines = append(lines, said(fmt.Sprintf("another one, blank, do not format it: disk %d: %s", d.Number, d))...)
		}
	}
	if len(lines) > most {
		return said(fmt.Sprintf("others are blank, do not format them: %d disks", len(lines)))
	}
	return lines
}

// stagedLately is how young a stage is whose publish may be under way.
const stagedLately = 2 * time.Minute

// unpublished judges staged volumes to which no path of a pod leads. One that is about to be published looks like one
// that kubelet forgot, as after a restart, so the young ones are left out.
// https://github.com/kubernetes/kubernetes/issues/130300
func (r *report) unpublished() {
	for _, u := range Unpublished(r.Seen) {
		if known, is := r.Staged[GlobalmountKey(u.GetPath())]; is && known.Age < stagedLately {
			continue
		}
		at := argument{"PATH", u.GetPath()}
		remove := command("if no pod of this node has the volume: csi-proxyctl volume unmount %s %s",
			argument{"VOLUME", u.GetTarget()}, at)
		if u.GetKind() == admin.Target_TARGET_SHARE {
			remove = command("if no pod of this node has the volume: csi-proxyctl fs rmdir %s", at)
		}
		r.add(Note, "staged-not-published",
			"a staged volume is published to no pod: kubelet may have left it behind: "+u.GetPath(),
			said(u.GetPath()+" → "+u.GetTarget(), "no pod suffers; it can wait"),
			"look for pods of this node that have the volume: kubectl get pods -A --field-selector spec.nodeName=NODE "+
				"-o custom-columns=NAMESPACE:.metadata.namespace,POD:.metadata.name,"+
				"CLAIM:.spec.volumes[*].persistentVolumeClaim.claimName",
			remove)
	}
}
