// SPDX-License-Identifier: Apache-2.0

package node

import (
	"regexp"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// Unpublished is a volume or a share that is staged for a CSI driver, and to which no path of a pod leads. A volume
// between its stage and its publish looks the same as one that kubelet left behind.
type Unpublished struct {
	Path   string
	Target string // a volume id or a share
}

// globalmount matches kubelet's path at which a CSI driver stages a volume, with kubelet's directory.
// https://github.com/kubernetes/kubernetes/blob/v1.34.0/pkg/volume/csi/csi_attacher.go, makeDeviceMountPath
var globalmount = regexp.MustCompile(`(?i)^(.+)\\plugins\\kubernetes\.io\\csi\\[^\\]+\\[^\\]+\\globalmount$`)

// Publication is a path that leads to a volume or a share, and is no globalmount.
type Publication struct {
	Path   string
	Target string // a volume id or a share
}

// ShareLink is a link to a share.
type ShareLink struct {
	At     winpath.Path
	Target winpath.Target
}

// published is what a search has seen of staged volumes and of what leads to them. Drivers publish by a link to the
// path of the stage; a mount point of the same volume, and a link to the same share, count as well.
type published struct {
	staged   []Unpublished
	local    []Publication     // links to paths of this node, whose keys are the targets
	devices  []Publication     // other mount points and links to shares
	mounts   map[string]string // the volume or share to which each path leads that is not in local, by key
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
		s.local = append(s.local, Publication{path.String(), target.Path.Key()})
		return
	}
	s.mounts[path.Key()] = device
	if globalmount.MatchString(path.String()) {
		s.staged = append(s.staged, Unpublished{path.String(), device})
		return
	}
	s.reached[device] = true
	s.devices = append(s.devices, Publication{path.String(), device})
}

// Key returns the share: \\server\share in lower case.
func (l ShareLink) Key() string { return winfs.ShareKey(l.Target.Server, l.Target.Share) }

// publications returns the paths that lead to a volume or share, by path.
func (s *published) publications() []Publication {
	all := slices.Clone(s.devices)
	for _, l := range s.local {
		for to := l.Target; strings.Contains(to, `\`); to = to[:strings.LastIndexByte(to, '\\')] {
			if device := s.mounts[to]; device != "" { // of a directory of the volume, too
				all = append(all, Publication{l.Path, device})
				break
			}
		}
	}
	slices.SortFunc(all, func(a, b Publication) int { return strings.Compare(a.Path, b.Path) })
	return all[:min(len(all), maxDanglingFound)]
}

// complete reports whether the search has seen all links.
func (s *brokenLinkScan) complete() bool { return s.err == nil && !s.unseen }

// unpublished returns the staged volumes that nothing else leads to, by path. It returns none unless the search has
// seen every link that may lead there.
func (s *brokenLinkScan) unpublished() (all []Unpublished) {
	for _, u := range s.staged {
		kubelet := globalmount.FindStringSubmatch(u.Path)[1]
		if s.complete() && s.kubelets[winpath.Fold(kubelet)] &&
			!s.reached[winpath.Fold(u.Path)] && !s.reached[u.Target] {
			all = append(all, u)
		}
	}
	slices.SortFunc(all, func(a, b Unpublished) int { return strings.Compare(a.Path, b.Path) })
	return all[:min(len(all), maxDanglingFound)]
}
