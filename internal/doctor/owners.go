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
