// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

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
	evidence := said(fmt.Sprintf("%d mappings, of which %d do not work", len(all), stale))
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		evidence = append(evidence, said(fmt.Sprintf("%s: %d", name, servers[name]))...)
	}
	r.add(severity, "many-smb-mappings",
		fmt.Sprintf("%d shares are mapped: Windows has stopped mapping more at about %d, with %q", len(all), mappingsMost,
			"not enough memory resources"), evidence,
		"csi-proxyctl smb list -o wide, and for each share that no pod uses: csi-proxyctl smb unmap SHARE",
		"let the driver remove mappings: --remove-smb-mapping-during-unmount of csi-driver-smb, "+
			"--remove-smb-mount-on-windows of the driver for Azure Files")
}

// mapping judges one mapping by whether the server lets this node in. A mapping to which no link leads is judged by its
// status in Windows; "disconnected" alone is no finding then, because an idle session has that status as well. It
// reports whether it found something.
func (r *report) mapping(m *admin.SMBMapping, server, link string) bool {
	share := argument{"SHARE", m.GetRemotePath()}
	evidence := said(m.GetRemotePath() + ": Windows says " + m.GetStatus())
	if m.GetError() != "" {
		users := r.usersOf(winpath.Fold(m.GetRemotePath()))
		if len(users) == 0 {
			users = []Evidence{{Line: "used by " + link, User: link}}
		}
		evidence = slices.Concat(evidence, users, said(m.GetError()))
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
			command("kubectl get pv %s -o yaml: which share it names", argument{"VOLUME",
				cmp.Or(r.persistentVolumeOf(winpath.Fold(m.GetRemotePath())), "VOLUME")}),
			"if it was removed on the server: have it made again, with this name",
			"if it was renamed: make a new PersistentVolume and claim; the source of one cannot be changed")
	case code == win32.ERROR_ACCESS_DENIED || code == win32.ERROR_NETWORK_ACCESS_DENIED:
		return found("a file server denies access to a mapped share",
			"see whether the account may still use the share, and the firewall of the storage account")
	case m.GetWithoutCredentials():
		return found("a mapped share lost its credentials when Windows restarted",
			"kubectl delete pod -n NAMESPACE POD, for each that uses it: for the next ones, the driver maps the share again")
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
			said(evidence...),
			"csi-proxyctl smb list -o wide, and for each share that no program uses: csi-proxyctl smb unmap SHARE")
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
				append(said("session with "+s.GetTarget()+": no connection, the initiator is trying to make one"),
					r.missed()...),
				append([]string{"csi-proxyctl iscsi portal list", r.testPortal()}, orElsewhere(r.missed())...)...)
		}
	}
}
