// SPDX-License-Identifier: Apache-2.0

package node

import (
	"slices"
	"strings"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/kubeletpath"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// ShareLink is a link to a share.
type ShareLink struct {
	At     winpath.Path
	Target winpath.Target
}

// published is what a search has seen of staged volumes and of what leads to them. Drivers publish by a link to the
// path of the stage; a mount point of the same volume, and a link to the same share, count as well.
type published struct {
	staged   []*api.Unpublished
	local    []*api.Publication // links to paths of this node, whose keys are the targets
	devices  []*api.Publication // other mount points and links to shares
	mounts   map[string]string  // the volume or share to which each path leads that is not in local, by key
	shares   []ShareLink
	reached  map[string]bool // keys of paths, and volumes and shares, to which links and other mount points lead
	kubelets map[string]bool // keys of kubelet's directories whose pods the search has seen
	unseen   bool            // something could not be opened
}

// enters notes that the search enters a directory: it sees the links of pods only if it begins there or one above.
func (s *published) enters(directory winpath.Path, depth int) {
	if kubelet, is := strings.CutSuffix(directory.Key(), winpath.Fold(`\pods`)); is && depth <= 2 {
		s.kubelets[kubelet] = true
	}
}

// leads notes where a link or mount point leads.
func (s *published) leads(at *win32.ReparsePoint, path winpath.Path) {
	target, err := winfs.TargetOf(at)
	if err != nil {
		return // of another kind
	}
	device := ""
	switch target.Kind {
	case winpath.TargetVolume:
		device = target.Volume.String()
	case winpath.TargetUNC:
		device = winfs.ShareKey(target.Server, target.Share)
		if !slices.ContainsFunc(s.shares, func(l ShareLink) bool { return l.Key() == device }) {
			s.shares = append(s.shares, ShareLink{path, target})
		}
	case winpath.TargetRelative:
		target.Path, _ = winpath.Parse(target.Text, winpath.Options{}) // kubelet gives drivers paths without a drive
	}
	for to := target.Path.Key(); strings.Contains(to, `\`); to = to[:strings.LastIndexByte(to, '\\')] {
		s.reached[to] = true // of a directory of the volume, its mount point, too
	}
	if device == "" {
		s.local = append(s.local, &api.Publication{Path: path.String(), Target: target.Path.Key()})
		return
	}
	s.mounts[path.Key()] = device
	if _, _, staged := kubeletpath.ParseStaged(path.String()); staged {
		s.staged = append(s.staged, &api.Unpublished{Path: path.String(), Target: device})
		return
	}
	s.reached[device] = true
	s.devices = append(s.devices, &api.Publication{Path: path.String(), Target: device})
}

// Key returns the share: \\server\share in lower case.
func (l ShareLink) Key() string { return winfs.ShareKey(l.Target.Server, l.Target.Share) }

// publications returns the paths that lead to a volume or share, by path.
func (s *published) publications() []*api.Publication {
	all := slices.Clone(s.devices)
	for _, l := range s.local {
		for to := l.GetTarget(); strings.Contains(to, `\`); to = to[:strings.LastIndexByte(to, '\\')] {
			if device := s.mounts[to]; device != "" { // of a directory of the volume, too
				all = append(all, &api.Publication{Path: l.GetPath(), Target: device})
				break
			}
		}
	}
	slices.SortFunc(all, func(a, b *api.Publication) int { return strings.Compare(a.GetPath(), b.GetPath()) })
	return all[:min(len(all), maxDanglingFound)]
}

// complete reports whether the search has seen all links.
func (s *brokenLinkScan) complete() bool { return s.err == nil && !s.unseen }

// unpublished returns the staged volumes to which nothing else leads, by path; none if it cannot have seen every link.
func (s *brokenLinkScan) unpublished() (all []*api.Unpublished) {
	for _, u := range s.staged {
		kubelet, _, staged := kubeletpath.ParseStaged(u.GetPath())
		if staged && s.complete() && s.kubelets[winpath.Fold(kubelet)] &&
			!s.reached[winpath.Fold(u.GetPath())] && !s.reached[u.GetTarget()] {
			all = append(all, u)
		}
	}
	slices.SortFunc(all, func(a, b *api.Unpublished) int { return strings.Compare(a.GetPath(), b.GetPath()) })
	return all[:min(len(all), maxDanglingFound)]
}
