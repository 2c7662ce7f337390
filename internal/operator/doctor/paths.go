// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/kubeletpath"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// A linkMap has the mount points and links of a node by the keys of their paths.
type linkMap map[string]*admin.Link

func linksOf(seen *admin.GetFactsResponse) linkMap {
	m := linkMap{}
	for _, l := range seen.GetLinks() {
		m[winpath.Fold(l.GetPath())] = l
	}
	return m
}

// mostFollowed is how many links of a path Windows follows (SYMLOOP_MAX): more of them lead in a circle.
const mostFollowed = 31

// follow returns the mount points and links on the way of a path, in order: those at it or above it, and where they
// lead. The last one is a link to a path only if that is a plain one, or missing.
func (m linkMap) follow(path string) (way []*admin.Link) {
	path = winpath.Fold(path)
	for at := path; strings.Contains(at, `\`) && len(way) < mostFollowed; {
		l := m[at]
		if l == nil {
			at = at[:strings.LastIndexByte(at, '\\')]
			continue
		}
		way = append(way, l)
		if l.GetKind() != admin.Target_TARGET_PATH {
			break
		}
		path = winpath.Fold(l.GetTarget()) + path[len(at):]
		at = path
	}
	return way
}

// LinkTo returns a link that leads to a share directly; "": none was seen.
func LinkTo(seen *admin.GetFactsResponse, share string) string {
	key := winpath.Fold(strings.TrimSuffix(share, `\`))
	for _, l := range seen.GetLinks() {
		if l.GetKind() == admin.Target_TARGET_SHARE && l.GetTarget() == key {
			return l.GetPath()
		}
	}
	return ""
}

// Unpublished returns the mount points and links at which volumes and shares are staged, and to which nothing else
// leads: for a moment as it should be, or left behind. It returns none unless it has seen every link of pods.
func Unpublished(seen *admin.GetFactsResponse) (all []*admin.Link) {
	links, reached := linksOf(seen), map[string]bool{}
	for _, l := range seen.GetLinks() {
		way := links.follow(l.GetPath())
		for _, on := range way[min(1, len(way)):] {
			reached[winpath.Fold(on.GetPath())] = true
		}
		if !isStaged(l.GetPath()) && l.GetKind() != admin.Target_TARGET_PATH {
			reached[l.GetTarget()] = true
		}
	}
	for _, l := range seen.GetLinks() {
		kubelet, _, staged := kubeletpath.ParseStaged(l.GetPath())
		if staged && l.GetKind() != admin.Target_TARGET_PATH && !l.GetMissing() && seesPods(seen, links, kubelet) &&
			!reached[winpath.Fold(l.GetPath())] && !reached[l.GetTarget()] {
			all = append(all, l)
		}
	}
	return all
}

// seesPods reports whether the facts have all links of the pods of kubelet's directory.
func seesPods(seen *admin.GetFactsResponse, links linkMap, kubelet string) bool {
	pods := winpath.Fold(kubelet + `\pods`)
	return seen.GetAllLinks() && links[pods] == nil &&
		slices.ContainsFunc(seen.GetWorkingDirectories(), func(dir string) bool {
			key := winpath.Fold(dir)
			return key == pods || key == winpath.Fold(kubelet)
		})
}

func isStaged(path string) bool {
	_, _, staged := kubeletpath.ParseStaged(path)
	return staged
}

// A user is a path of a pod or another one that leads to a volume or share; kubelet's globalmounts are none.
type user struct {
	path string
	way  []*admin.Link // from the path to the mount point of the volume, or the link to the share
}

// usersByTarget returns the users of each volume and share, by path.
func usersByTarget(seen *admin.GetFactsResponse, links linkMap) map[string][]user {
	all := map[string][]user{}
	for _, l := range seen.GetLinks() {
		way := links.follow(l.GetPath())
		if len(way) == 0 { // the path is none of Windows
			continue
		}
		if end := way[len(way)-1]; end.GetKind() != admin.Target_TARGET_PATH && !isStaged(l.GetPath()) {
			all[end.GetTarget()] = append(all[end.GetTarget()], user{l.GetPath(), way})
		}
	}
	return all
}

// usersOf names the paths that lead to a volume or share, and the pods whose paths they are; three of them at most.
func (r *report) usersOf(target string) (lines []Evidence) {
	const most = 3
	for i, u := range r.users[target] {
		if i == most {
			return append(lines, said(fmt.Sprintf("and %d paths more", len(r.users[target])-most))...)
		}
		use := Evidence{Line: "used by " + u.path, User: u.path}
		if pod := podOf(u.path); pod != nil {
			use = pod[0]
		}
		lines = append(lines, use)
	}
	return lines
}

// Users names the paths and pods that lead to a volume or share, as doctor's findings do.
func Users(seen *admin.GetFactsResponse, target string) []string {
	var names []string
	for _, use := range (&report{users: usersByTarget(seen, linksOf(seen))}).usersOf(target) {
		names = append(names, use.Line)
	}
	return names
}

// UsersThrough names the pods and other paths that lead through a mount point or link.
func UsersThrough(seen *admin.GetFactsResponse, path string) (names []string) {
	p, err := winpath.Parse(path, winpath.Options{}) // also in kubelet's spelling, without a drive
	if err != nil {
		return nil
	}
	links := linksOf(seen)
	at := links[p.Key()]
	for _, l := range seen.GetLinks() {
		switch pod := podOf(l.GetPath()); {
		case at == nil || isStaged(l.GetPath()) || !slices.Contains(links.follow(l.GetPath()), at):
		case len(pod) > 0:
			names = append(names, pod[0].Line)
		case l != at:
			names = append(names, "used by "+l.GetPath())
		}
	}
	return names
}

// podsThrough names the pods whose paths lead through a link.
func (r *report) podsThrough(l *admin.Link) (lines []Evidence) {
	for _, u := range r.users[l.GetTarget()] {
		if slices.Contains(u.way, l) {
			lines = append(lines, podOf(u.path)...)
		}
	}
	return lines
}

// nameOf names a volume or share as the first pod that uses it knows it; without one, by the name that is given.
func (r *report) nameOf(target, name string) string {
	if pv := r.persistentVolumeOf(target); pv != "" {
		return "volume " + pv
	}
	return name
}

// persistentVolumeOf returns the name of a volume's or share's PersistentVolume, "" if no pod here uses it.
func (r *report) persistentVolumeOf(target string) string {
	for _, u := range r.users[target] {
		if of := inPod.FindStringSubmatch(u.path); of != nil {
			return of[2]
		}
	}
	return ""
}

// volumeOf names the volume of a pod's path, and any other path itself.
func volumeOf(path string) string {
	if of := inPod.FindStringSubmatch(path); of != nil {
		return "volume " + of[2]
	}
	return path
}

// inPod matches the path at which a pod has a volume, with the pod's UID and the PersistentVolume's name.
var inPod = regexp.MustCompile(`(?i)\\pods\\([^\\]+)\\volumes\\kubernetes\.io~csi\\([^\\]+)\\`)

// podOf names the pod and the volume of a path.
func podOf(path string) []Evidence {
	if of := inPod.FindStringSubmatch(path); of != nil {
		return []Evidence{{Line: "used by pod " + of[1] + ", volume " + of[2], User: path, Pod: of[1]}}
	}
	return nil
}

// danglingLinks returns the mount points and links that lead nowhere or in a circle, and those of pods to kubelet's
// globalmount at which nothing is mounted: a plain directory of the system disk.
func (r *report) danglingLinks() []*admin.Link {
	return slices.DeleteFunc(slices.Clone(r.Seen.GetLinks()),
		func(l *admin.Link) bool {
			return !l.GetMissing() && !isStaged(l.GetEndsAt()) && len(r.links.follow(l.GetPath())) < mostFollowed
		})
}

// missesVolume reports whether a mount point misses its volume.
func missesVolume(l *admin.Link) bool {
	return l.GetKind() == admin.Target_TARGET_VOLUME && l.GetMissing()
}
