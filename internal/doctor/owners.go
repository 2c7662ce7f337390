// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

// staged matches kubelet's path at which a CSI driver stages a volume, with the driver's name.
// https://github.com/kubernetes/kubernetes/blob/v1.34.0/pkg/volume/csi/csi_attacher.go, makeDeviceMountPath
var staged = regexp.MustCompile(`(?i)\\plugins\\kubernetes\.io\\csi\\([^\\]+)\\[^\\]+\\globalmount\\?$`)

// below matches paths below kubelet's directory.
var below = regexp.MustCompile(`(?i)\\kubelet\\`)

// owners judges who uses the disks: several CSI drivers on one node, or something that is none.
func owners(f Facts) []Finding {
	if f.Tree == nil {
		return nil
	}
	var findings []Finding
	disks := map[string][]string{} // by driver
	for _, d := range f.Tree.Disks {
		if d.System != nil && *d.System {
			continue
		}
		drivers, elsewhere := users(d)
		for _, driver := range drivers {
			disks[driver] = append(disks[driver], fmt.Sprint(d.Number))
		}
		if len(drivers) > 1 {
			findings = append(findings, Finding{
				Severity: Warning, Check: "disk-of-two-drivers", What: fmt.Sprintf("disk %d is staged by several CSI drivers: %s",
					d.Number, strings.Join(drivers, ", ")),
				Evidence: append([]string{describe(d)}, mountedAt(d)...),
				Do: []string{"find out which of them the disk belongs to: one of them has taken another's, or did not " +
					"unstage it"},
			})
		}
		if len(drivers) == 0 && len(elsewhere) > 0 {
			findings = append(findings, Finding{
				Severity: Note, Check: "disk-not-of-kubernetes",
				What: fmt.Sprintf("disk %d is used outside kubelet's directory: it belongs to something that is no CSI driver",
					d.Number),
				Evidence: append([]string{describe(d)}, mountedAt(d)...), Do: []string{},
			})
		}
	}
	if len(disks) > 1 {
		finding := Finding{
			Severity: Note, Check: "several-drivers",
			What: "several CSI drivers have disks on this node: each must find its own by serial number, page 83 or address, " +
				"never by being new or blank",
			Evidence: []string{}, Do: []string{},
		}
		for _, driver := range slices.Sorted(maps.Keys(disks)) {
			finding.Evidence = append(finding.Evidence, driver+": disk "+strings.Join(disks[driver], ", "))
		}
		findings = append(findings, finding)
	}
	return findings
}

// users returns the CSI drivers that stage volumes of a disk, and the mount points that are not kubelet's.
func users(d treeview.Disk) (drivers, elsewhere []string) {
	for _, p := range d.Partitions {
		if p.Volume == nil {
			continue
		}
		for _, path := range p.Volume.MountPoints {
			switch of := staged.FindStringSubmatch(path); {
			case len(of) > 1 && !slices.Contains(drivers, of[1]):
				drivers = append(drivers, of[1])
			case of == nil && !below.MatchString(path):
				elsewhere = append(elsewhere, path)
			}
		}
	}
	slices.Sort(drivers)
	return drivers, elsewhere
}

// automount judges whether Windows mounts new volumes.
func automount(f Facts) []Finding {
	if !f.AutomountOff {
		return nil
	}
	return []Finding{{
		Severity: Warning, Check: "automount-off",
		What:     "automount is off: Windows leaves volumes offline that it has not mounted before",
		Evidence: []string{"as after mountvol /N"},
		Do: []string{"mountvol /E",
			"this agent brings such a volume online when a driver asks for it; drivers that mount in another way, and other " +
				"agents, do not find it"},
	}}
}
