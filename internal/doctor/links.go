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
func dangling(f Facts) []Finding {
	var findings []Finding
	for _, d := range f.Inspected.GetDangling() {
		path := argument{"PATH", d.GetPath()}
		finding := Finding{
			Severity: Warning, Check: "dangling-link", What: "a link leads nowhere: " + d.GetPath(),
			Evidence: []string{d.GetPath() + " → " + d.GetTarget()}, Do: []string{command("csi-proxyctl fs rmdir %s", path)},
		}
		switch d.GetKind() {
		case admin.DanglingKind_DANGLING_KIND_MOUNT_POINT:
			finding.Severity, finding.Check = Problem, "dangling-mount-point"
			finding.What = "the disk of a mounted volume is gone: nothing is at " + d.GetPath()
			finding.Do = []string{
				"if pods still use the volume: attach the disk again",
				command("if nothing uses it: csi-proxyctl volume unmount %s %s", argument{"VOLUME", d.GetTarget()}, path),
			}
			if staged.MatchString(d.GetPath()) {
				finding.Check = "left-over-globalmount"
				finding.What = "kubelet's mount point of a gone disk was left over: " + d.GetPath()
				// https://github.com/kubernetes/kubernetes/issues/130300
				finding.Do = append(finding.Do, `until then a pod with the volume may wait here: "exists but is not a directory"`)
			}
		case admin.DanglingKind_DANGLING_KIND_SHARE:
			finding.Check = "dangling-share-link"
			finding.What = "the share behind a link is not mapped, as after a reboot: " + d.GetPath()
			finding.Do = []string{
				"if pods use it: restart them, so that kubelet has the driver map it again",
				command("if nothing uses it: csi-proxyctl fs rmdir %s", path),
			}
		}
		findings = append(findings, finding)
	}
	return findings
}

// mappings judges SMB mappings.
func mappings(f Facts) []Finding {
	var findings []Finding
	for _, m := range f.Inspected.GetSmbMappings() {
		if m.GetStatus() == "OK" {
			continue
		}
		findings = append(findings, Finding{
			Severity: Problem, Check: "stale-smb-mapping", What: "the mapping of a share does not work: " + m.GetRemotePath(),
			Evidence: []string{fmt.Sprintf("%s: %s", m.GetRemotePath(), m.GetStatus())},
			Do: []string{
				command("check that the file server answers from this node: Test-NetConnection %s -Port 445",
					argument{"SERVER", server(m.GetRemotePath())}),
				command("after a password was changed: csi-proxyctl smb map %s --user USER --password-file FILE",
					argument{"SHARE", m.GetRemotePath()}),
			},
		})
	}
	return findings
}

// Nodes stopped mapping shares at about 701 mappings; before that, listing them had become slow.
// https://github.com/kubernetes-sigs/azurefile-csi-driver/issues/1925, https://github.com/kubernetes-csi/csi-driver-smb/issues/1039
const (
	mappingsMost = 700
	mappingsMany = 500
)

// mappingsLimit judges how many mappings there are.
func mappingsLimit(f Facts) []Finding {
	all := f.Inspected.GetSmbMappings()
	if len(all) < mappingsMany {
		return nil
	}
	servers, stale := map[string]int{}, 0
	for _, m := range all {
		servers[strings.ToLower(server(m.GetRemotePath()))]++
		if m.GetStatus() != "OK" {
			stale++
		}
	}
	finding := Finding{
		Severity: Warning, Check: "many-smb-mappings",
		What: fmt.Sprintf("%d shares are mapped: Windows has stopped mapping more at about %d, with \"not enough "+
			"memory resources\"", len(all), mappingsMost),
		Evidence: []string{fmt.Sprintf("%d mappings, of which %d are not connected", len(all), stale)},
		Do: []string{
			"csi-proxyctl smb list, and for each share that no pod uses: csi-proxyctl smb unmap SHARE",
			"let the driver remove mappings: --remove-smb-mapping-during-unmount of csi-driver-smb, " +
				"--remove-smb-mount-on-windows of the driver for Azure Files",
		},
	}
	if len(all) >= mappingsMost {
		finding.Severity = Problem
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		finding.Evidence = append(finding.Evidence, fmt.Sprintf("%s: %d", name, servers[name]))
	}
	return []Finding{finding}
}

// sessions judges iSCSI sessions.
func sessions(f Facts) []Finding {
	var findings []Finding
	for _, s := range f.Inspected.GetIscsiSessions() {
		if s.GetConnected() {
			continue
		}
		findings = append(findings, Finding{
			Severity: Problem, Check: "iscsi-disconnected", What: "an iSCSI target is not connected: the disks of " +
				s.GetTarget() + " hang or disappear",
			Evidence: []string{"session with " + s.GetTarget() + ": no connection, the initiator is trying to make one"},
			Do: []string{"csi-proxyctl iscsi portal list",
				"check that the portal answers from this node: Test-NetConnection ADDRESS -Port 3260"},
		})
	}
	return findings
}

// server returns the server of \\server\share.
func server(share string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(share, `\`), `\`)
	return name
}
