// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// deletePod is the step that has a volume staged again where a pod uses it.
const (
	deletePod     = "delete the pod: for the next one, kubelet has the driver stage the volume again"
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
		at, evidence := argument{"PATH", d.GetPath()}, append([]string{d.GetPath() + " → " + d.GetTarget()}, pod...)
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
		case !d.GetMissing():
			r.add(Problem, "link-to-system-disk",
				"a pod writes to the system disk: nothing is mounted where its volume should be, "+volumeOf(d.GetPath()), evidence,
				command("copy what lies in %s to another place: the pod wrote it, and the volume lacks it", argument{"PATH",
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
func (r *report) gone(d *admin.Link, evidence []string, at argument) {
	unmount := command("if nothing uses it: csi-proxyctl volume unmount %s %s", argument{"VOLUME", d.GetTarget()}, at)
	attach, again := "if pods still use the volume: attach the disk again", []string{"attach the disk again"}
	if len(r.Portals) > 0 && len(r.Seen.GetSessions()) == 0 {
		portal := argument{"PORTAL", r.Portals[0]}
		again = []string{command("if it is an iSCSI disk: csi-proxyctl iscsi portal discover %s", portal),
			command("and csi-proxyctl iscsi login %s TARGET", portal), "if it is none: attach the disk again"}
		evidence = append(evidence, "no iSCSI session, and registered portals: "+strings.Join(r.Portals, ", "))
	}
	check, what := "dangling-mount-point",
		"the disk of a mounted volume is gone: nothing is at "+d.GetPath()
	if isStaged(d.GetPath()) {
		published := slices.ContainsFunc(r.users[d.GetTarget()], func(u user) bool { return slices.Contains(u.way, d) })
		if published {
			r.add(Problem, check, "the disk of a mounted volume is gone: "+r.nameOf(d.GetTarget(), d.GetPath()),
				slices.Concat(evidence, r.usersOf(d.GetTarget()), r.blank()),
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
func (r *report) blank() (lines []string) {
	for _, d := range r.Tree.Disks {
		if d.Style == "RAW" {
			lines = append(lines, fmt.Sprintf("another one, blank, do not format it: disk %d: %s", d.Number, d))
		}
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
		if strings.HasPrefix(u.GetTarget(), `\\`) && !strings.HasPrefix(u.GetTarget(), `\\?\`) {
			remove = command("if no pod of this node has the volume: csi-proxyctl fs rmdir %s", at)
		}
		r.add(Note, "staged-not-published",
			"a staged volume is published to no pod: kubelet may have left it behind: "+u.GetPath(),
			[]string{u.GetPath() + " → " + u.GetTarget(), "no pod suffers; it can wait"},
			"look for pods of this node that have the volume: kubectl get pods -A --field-selector spec.nodeName=NODE "+
				"-o custom-columns=NAMESPACE:.metadata.namespace,POD:.metadata.name,"+
				"CLAIM:.spec.volumes[*].persistentVolumeClaim.claimName",
			remove)
	}
}

// Nodes stopped mapping shares at about 701 mappings; before that, listing them had become slow.
// https://github.com/kubernetes-sigs/azurefile-csi-driver/issues/1925, https://github.com/kubernetes-csi/csi-driver-smb/issues/1039
const (
	mappingsMost = 700
	mappingsMany = 500
)

func (r *report) mappings() {
	all, servers, unused, stale := r.Seen.GetMappings(), map[string]int{}, map[string][]string{}, 0
	for _, m := range all {
		name, _, _ := strings.Cut(strings.TrimLeft(m.GetRemotePath(), `\`), `\`)
		server := winpath.Fold(name)
		servers[server]++
		link := LinkTo(r.Seen, m.GetRemotePath())
		if link == "" {
			unused[server] = append(unused[server], m.GetRemotePath())
		}
		if r.mapping(m, name, link) {
			stale++
		}
	}
	if r.Seen.GetAllLinks() {
		r.unused(unused)
	}
	if len(all) < mappingsMany {
		return
	}
	severity := Warning
	if len(all) >= mappingsMost {
		severity = Problem
	}
	evidence := []string{fmt.Sprintf("%d mappings, of which %d do not work", len(all), stale)}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		evidence = append(evidence, fmt.Sprintf("%s: %d", name, servers[name]))
	}
	r.add(severity, "many-smb-mappings",
		fmt.Sprintf("%d shares are mapped: Windows has stopped mapping more at about %d, with %q", len(all), mappingsMost,
			"not enough memory resources"), evidence,
		"csi-proxyctl smb list -o wide, and for each share that no pod uses: csi-proxyctl smb unmap SHARE",
		"let the driver remove mappings: --remove-smb-mapping-during-unmount of csi-driver-smb, "+
			"--remove-smb-mount-on-windows of the driver for Azure Files")
}

// mapping judges one mapping by whether the server lets this node in, and without a link that leads there by what
// Windows says: disconnected is an idle session as well, and so is no finding by itself. It reports whether it found
// something.
func (r *report) mapping(m *admin.SMBMapping, server, link string) bool {
	share := argument{"SHARE", m.GetRemotePath()}
	evidence := []string{m.GetRemotePath() + ": Windows says " + m.GetStatus()}
	if m.GetError() != "" {
		users := r.usersOf(winpath.Fold(m.GetRemotePath()))
		if len(users) == 0 {
			users = []string{"used by " + link}
		}
		evidence = append(append(evidence, users...), m.GetError())
	}
	found := func(what string, do ...string) bool {
		r.addCase(what+" of "+winpath.Fold(server), Problem, "stale-smb-mapping", what+": "+m.GetRemotePath(), evidence,
			do...)
		return true
	}
	switch code := win32.Errno(m.GetWin32Code()); {
	case m.GetError() == "" && (m.GetStatus() == "OK" || m.GetStatus() == "disconnected"):
		return false
	case code == win32.ERROR_BAD_NET_NAME:
		return found("a file server has no such share any more",
			"if it was removed on the server: have it made again, with this name",
			"if it was renamed: make a new PersistentVolume and claim; the source of one cannot be changed")
	case code == win32.ERROR_ACCESS_DENIED || code == win32.ERROR_NETWORK_ACCESS_DENIED:
		return found("a file server denies access to a mapped share",
			"see whether the account may still use the share, and the firewall of the storage account")
	case m.GetWithoutCredentials():
		return found("a mapped share lost its credentials when Windows restarted",
			"delete the pods that use it: for the next ones, the driver maps the share again")
	case refuses(code):
		return found("a file server refuses the credentials of a mapped share",
			"see on the server whether the account is there and may log on, and correct the driver's secret",
			command("csi-proxyctl smb map %s --user USER --password-file FILE: pods go on", share))
	default:
		return found("a file server does not answer for a mapped share", testServer(server),
			smbLog)
	}
}

// refuses reports whether a code means that a server refuses credentials.
func refuses(code win32.Errno) bool {
	cause, _ := errdefs.SMB(code)
	return cause == errdefs.SMBLogonRefused
}

// unused judges mappings to which no link leads. Windows has one account for each server: they refuse another.
func (r *report) unused(byServer map[string][]string) {
	severity, total := Note, 0
	var evidence []string
	for _, server := range slices.Sorted(maps.Keys(byServer)) {
		shares := byServer[server]
		if total += len(shares); len(shares) > 1 {
			severity = Warning
		}
		evidence = append(evidence, fmt.Sprintf("%s: %d, such as %s", server, len(shares), shares[0]))
	}
	if total > 0 {
		r.add(severity, "unused-smb-mappings",
			fmt.Sprintf("no link leads to mapped shares, %d in all: their servers refuse another account meanwhile", total),
			evidence, "csi-proxyctl smb list -o wide, and for each share that no program uses: csi-proxyctl smb unmap SHARE")
	}
}

// testPortal returns the step that shows whether an iSCSI portal answers.
func (r *report) testPortal() string {
	address, port := "ADDRESS", "3260"
	if len(r.Portals) == 1 {
		if a, p, err := net.SplitHostPort(r.Portals[0]); err == nil {
			address, port = a, p
		}
	}
	return command("check that the portal answers from this node: Test-NetConnection %s -Port %s",
		argument{"ADDRESS", address}, argument{"PORT", port})
}

func (r *report) sessions() {
	for _, s := range r.Seen.GetSessions() {
		if !s.GetConnected() {
			r.add(Problem, "iscsi-disconnected",
				"an iSCSI target is not connected: the disks of "+s.GetTarget()+" hang or disappear",
				append([]string{"session with " + s.GetTarget() + ": no connection, the initiator is trying to make one"},
					r.missed()...),
				"csi-proxyctl iscsi portal list", r.testPortal())
		}
	}
}
