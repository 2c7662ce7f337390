// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/kubeletpath"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
)

// GlobalmountKey returns the key of a globalmount of kubelet in Facts.Staged, and "" for any other path.
func GlobalmountKey(path string) string {
	if _, _, staged := kubeletpath.ParseStaged(path); !staged {
		return ""
	}
	return strings.ToLower(strings.TrimSuffix(path, `\`))
}

// driverOf returns the driver that staged a volume at a globalmount, "" if it is not known.
func (r *report) driverOf(path string) string {
	if driver := r.Staged[GlobalmountKey(path)].Driver; driver != "" {
		return driver
	}
	if _, driver, _ := kubeletpath.ParseStaged(path); driver != "pv" {
		return driver
	}
	return ""
}

// ours reports whether a path lies below a working directory of the agent.
func (r *report) ours(path string) bool {
	dirs := r.Seen.GetWorkingDirectories()
	return len(dirs) == 0 && below.MatchString(path) || slices.ContainsFunc(dirs, func(dir string) bool {
		return strings.HasPrefix(strings.ToLower(path), strings.ToLower(dir+`\`))
	})
}

// below matches paths below kubelet's directory, where the agent does not tell it.
var below = regexp.MustCompile(`(?i)\\kubelet\\`)

// owners reports disks that several CSI drivers have staged, and disks that are mounted outside of kubelet's
// directories.
func (r *report) owners() {
	for _, d := range r.Tree.Disks {
		if d.IsSystem() {
			continue
		}
		drivers, elsewhere := r.stagedBy(d)
		if len(drivers) > 1 {
			r.add(Warning, "disk-of-two-drivers",
				fmt.Sprintf("a disk is staged by several CSI drivers: disk %d by %s", d.Number, strings.Join(drivers, ", ")),
				append(describe(d), r.podsOn(d)...), append(r.unmountUnused(d), whereAttached,
					"one of the drivers has taken another's disk, or did not unstage it")...)
		}
		if len(drivers) == 0 && elsewhere {
			r.add(Note, "disk-not-of-kubernetes",
				fmt.Sprintf("a disk is used outside kubelet's directory, by something that is no CSI driver: disk %d",
					d.Number), describe(d))
		}
	}
}

// unmountUnused returns the steps that unmount the volumes of a disk where no path of the node leads.
func (r *report) unmountUnused(d treeview.Disk) (do []string) {
	for _, p := range d.Volumes() {
		for _, path := range p.Volume.MountPoints {
			through := func(u user) bool {
				return slices.ContainsFunc(u.way, func(l *admin.Link) bool {
					return GlobalmountKey(l.GetPath()) == GlobalmountKey(path)
				})
			}
			if isStaged(path) && r.Seen.GetAllLinks() && !slices.ContainsFunc(r.users[p.Volume.ID], through) {
				do = append(do, command("no pod here uses this one: csi-proxyctl volume unmount %s %s",
					argument{"VOLUME", p.Volume.ID}, argument{"PATH", strings.TrimSuffix(path, `\`)}))
			}
		}
	}
	return do
}

// stagedBy returns the CSI drivers that stage volumes of a disk, and whether it is mounted outside the agent's
// directories.
func (r *report) stagedBy(d treeview.Disk) (drivers []string, elsewhere bool) {
	for _, p := range d.Volumes() {
		for _, path := range p.Volume.MountPoints {
			if driver := r.driverOf(path); driver != "" {
				drivers = append(drivers, driver)
			}
			elsewhere = elsewhere || !r.ours(path)
		}
	}
	slices.Sort(drivers)
	return slices.Compact(drivers), elsewhere
}
