// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
)

// dangling judges mount points and links that lead nowhere.
func (r *report) dangling() {
	for _, d := range r.Inspected.GetDangling() {
		at, evidence := argument{"PATH", d.GetPath()}, []string{d.GetPath() + " → " + d.GetTarget()}
		attach := "if pods still use the volume: attach the disk again"
		unmount := command("if nothing uses it: csi-proxyctl volume unmount %s %s", argument{"VOLUME", d.GetTarget()}, at)
		switch kind := d.GetKind(); {
		case mountPoint(d) && staged.MatchString(d.GetPath()):
			r.add(Problem, "left-over-globalmount", "kubelet's mount point of a gone disk was left over: "+d.GetPath(),
				evidence, attach, unmount, // https://github.com/kubernetes/kubernetes/issues/130300
				`until then a pod with the volume may wait here: "exists but is not a directory"`)
		case mountPoint(d):
			r.add(Problem, "dangling-mount-point", "the disk of a mounted volume is gone: nothing is at "+d.GetPath(),
				evidence, attach, unmount)
		case kind == admin.DanglingKind_DANGLING_KIND_SHARE:
			r.add(Warning, "dangling-share-link", "the share behind a link is not mapped, as after a reboot: "+d.GetPath(),
				evidence, "if pods use it: restart them, so that kubelet has the driver map it again",
				command("if nothing uses it: csi-proxyctl fs rmdir %s", at))
		default:
			r.add(Warning, "dangling-link", "a link leads nowhere: "+d.GetPath(), evidence,
				command("csi-proxyctl fs rmdir %s", at))
		}
	}
}

// unpublished judges staged volumes to which no path of a pod leads. One that is about to be published looks like one
// that kubelet forgot, as after a restart. https://github.com/kubernetes/kubernetes/issues/130300
func (r *report) unpublished() {
	for _, u := range r.Inspected.GetUnpublished() {
		at := argument{"PATH", u.GetPath()}
		remove := command("if no pod of this node has the volume: csi-proxyctl volume unmount %s %s",
			argument{"VOLUME", u.GetTarget()}, at)
		if strings.HasPrefix(u.GetTarget(), `\\`) && !strings.HasPrefix(u.GetTarget(), `\\?\`) {
			remove = command("if no pod of this node has the volume: csi-proxyctl fs rmdir %s", at)
		}
		r.add(Note, "staged-not-published",
			"a staged volume is published to no pod: it is about to be, or kubelet left it behind: "+u.GetPath(),
			[]string{u.GetPath() + " → " + u.GetTarget()},
			"csi-proxyctl doctor, in a minute: between stage and publish a volume looks the same for some seconds",
			"if it stays: look for pods of this node that have the volume, with kubectl get pods -A -o wide", remove)
	}
}

// Nodes stopped mapping shares at about 701 mappings; before that, listing them had become slow.
// https://github.com/kubernetes-sigs/azurefile-csi-driver/issues/1925, https://github.com/kubernetes-csi/csi-driver-smb/issues/1039
const (
	mappingsMost = 700
	mappingsMany = 500
)

// mappings judges SMB mappings, and how many there are.
func (r *report) mappings() {
	all, servers, stale := r.Inspected.GetSmbMappings(), map[string]int{}, 0
	for _, m := range all {
		name, _, _ := strings.Cut(strings.TrimLeft(m.GetRemotePath(), `\`), `\`)
		servers[strings.ToLower(name)]++
		if m.GetStatus() == "OK" {
			continue
		}
		stale++
		r.add(Problem, "stale-smb-mapping", "the mapping of a share does not work: "+m.GetRemotePath(),
			[]string{m.GetRemotePath() + ": " + m.GetStatus()},
			command("check that the file server answers from this node: Test-NetConnection %s -Port 445",
				argument{"SERVER", name}),
			command("after a password was changed: csi-proxyctl smb map %s --user USER --password-file FILE",
				argument{"SHARE", m.GetRemotePath()}))
	}
	if len(all) < mappingsMany {
		return
	}
	severity := Warning
	if len(all) >= mappingsMost {
		severity = Problem
	}
	evidence := []string{fmt.Sprintf("%d mappings, of which %d are not connected", len(all), stale)}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		evidence = append(evidence, fmt.Sprintf("%s: %d", name, servers[name]))
	}
	r.add(severity, "many-smb-mappings",
		fmt.Sprintf("%d shares are mapped: Windows has stopped mapping more at about %d, with %q", len(all), mappingsMost,
			"not enough memory resources"), evidence,
		"csi-proxyctl smb list, and for each share that no pod uses: csi-proxyctl smb unmap SHARE",
		"let the driver remove mappings: --remove-smb-mapping-during-unmount of csi-driver-smb, "+
			"--remove-smb-mount-on-windows of the driver for Azure Files")
}

// sessions judges iSCSI sessions.
func (r *report) sessions() {
	for _, s := range r.Inspected.GetIscsiSessions() {
		if !s.GetConnected() {
			r.add(Problem, "iscsi-disconnected",
				"an iSCSI target is not connected: the disks of "+s.GetTarget()+" hang or disappear",
				[]string{"session with " + s.GetTarget() + ": no connection, the initiator is trying to make one"},
				"csi-proxyctl iscsi portal list",
				"check that the portal answers from this node: Test-NetConnection ADDRESS -Port 3260")
		}
	}
}
