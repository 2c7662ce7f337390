// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"slices"
	"strings"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/kubeletpath"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

const (
	// maxDanglingDepth is the depth to which a working directory is searched: kubelet's mount point of a volume is on the
	// sixth level, pods\UID\volumes\kubernetes.io~csi\NAME\mount.
	maxDanglingDepth = 6
	// maxDanglingEntries limits a search, because a workload can fill directories without limit.
	maxDanglingEntries = 20_000
	// maxDanglingFound limits what it returns, for the same reason.
	maxDanglingFound = 1000
)

// Links are what a search of the working directories found.
type Links struct {
	Dangling    []*api.Dangling    // those that lead nowhere
	Unpublished []*api.Unpublished // a volume between its stage and its publish looks like one that was left behind
	Published   []*api.Publication
	Shares      []ShareLink // one for each share that is mapped
	Complete    bool        // all links were seen
}

// Links searches the working directories, not mounted volumes, for mount points and links that lead nowhere, and for
// volumes that are staged and not published. With an error, it returns what it found before.
func (f *Filesystem) Links(ctx context.Context) (Links, error) {
	search, err := read(ctx, f.node, operation.On("Links"), func(o *op) (*brokenLinkScan, error) {
		return o.dangling(false), nil
	})
	if err != nil {
		return Links{}, err
	}
	return Links{search.found, search.unpublished(), search.publications(), search.shares, search.complete()}, search.err
}

func (o *op) dangling(volumesOnly bool) *brokenLinkScan {
	s := &brokenLinkScan{op: o, left: maxDanglingEntries, tops: map[string]bool{}, volumesOnly: volumesOnly,
		published: published{reached: map[string]bool{}, kubelets: map[string]bool{}, mounts: map[string]string{}}}
	s.everywhere(o.node.policy.Dirs())
	slices.SortFunc(s.found, func(a, b *api.Dangling) int { return strings.Compare(a.GetPath(), b.GetPath()) })
	return s
}

// brokenLinkScan is one search. What it cannot look at hides nothing else: it is unseen.
type brokenLinkScan struct {
	published

	op    *op
	left  int             // entries that may still be read
	tops  map[string]bool // the working directories, each searched for itself: one may lie in another
	found []*api.Dangling
	err   error // the end of the search, or why the first object is unseen that no program keeps closed

	volumesOnly bool // look only for mount points whose volume is gone
}

// everywhere searches the directories in turn.
func (s *brokenLinkScan) everywhere(dirs []winpath.Path) {
	for _, dir := range dirs {
		s.tops[dir.Key()] = true
	}
	for _, dir := range dirs {
		if err := s.within(dir); err != nil {
			s.err = err
			return
		}
	}
}

// passOver notes that an object cannot be looked at. Denied access and sharing violations are expected: workloads set
// access lists and hold files open. A missing object has gone meanwhile.
func (s *brokenLinkScan) passOver(err error, doing string, path winpath.Path) {
	if errdefs.IsMissing(err) {
		return
	}
	s.unseen = true
	if s.err == nil && !errdefs.HasCode(err, win32.ERROR_ACCESS_DENIED, win32.ERROR_SHARING_VIOLATION) {
		s.err = errdefs.Errorf(err, "%s %s", doing, path)
	}
}

func (s *brokenLinkScan) within(dir winpath.Path) error {
	loc, l, err := s.op.fs.OpenAt(dir, winfs.Walk{}, 0)
	if err != nil {
		s.passOver(err, "searching", dir)
		return nil
	}
	defer loc.Close()
	return s.search(l, dir, 1)
}

// search looks at the entries of an open directory. Its error ends the whole search.
func (s *brokenLinkScan) search(directory *winfs.File, at winpath.Path, depth int) error {
	if depth > 1 && s.tops[at.Key()] {
		return nil
	}
	s.enters(at, depth)
	entries := winfs.Entries{Directory: directory}
	for {
		e, err := entries.Next()
		if err != nil {
			s.passOver(err, "listing", at)
		}
		if e == nil {
			return nil
		}
		if s.left--; s.left < 0 {
			return errdefs.FailedPrecondition.Errorf(reason.TooManyEntries,
				"the search for mount points and links that lead nowhere stopped after %d entries, at %s", maxDanglingEntries, at)
		}
		access, ok := accessToLook(*e, depth)
		if !ok {
			continue
		}
		path, err := at.Join(e.Name)
		if err != nil {
			continue // no call of ours accepts this name, so a workload made it
		}
		if err := s.scanEntry(s.op.fs.Child(directory.Handle, e.Name), access, path, depth); err != nil {
			return err
		}
	}
}

// accessToLook returns how to open an entry that leads to others: a directory to list it, a link or mount point to read
// where it leads. A socket is a reparse point, too, and one that a crash left behind may refuse every open (1920).
func accessToLook(e win32.DirectoryEntry, depth int) (access uint32, ok bool) {
	if e.Attributes&win32.FILE_ATTRIBUTE_REPARSE_POINT == 0 {
		return winfs.OpenContents, e.Attributes&win32.FILE_ATTRIBUTE_DIRECTORY != 0 && depth < maxDanglingDepth
	}
	switch e.ReparseTag {
	case win32.IO_REPARSE_TAG_MOUNT_POINT, win32.IO_REPARSE_TAG_SYMLINK:
		return 0, true
	}
	return 0, false // no call of ours makes another
}

// scanEntry examines one entry that is a link or a directory. Its error ends the whole search.
func (s *brokenLinkScan) scanEntry(loc *winfs.Location, access uint32, path winpath.Path, depth int) error {
	defer loc.Close()
	l, err := loc.Open(access)
	if err != nil {
		s.passOver(err, "opening", path)
		return nil
	}
	if l.Reparse == nil {
		if access == winfs.OpenContents && l.IsDirectory() {
			return s.search(l, path, depth+1)
		}
		return nil
	}
	kind, target, err := s.leadsNowhere(l.Stat, path)
	if err != nil {
		s.passOver(err, "looking at the link", path)
		return nil
	}
	if kind == 0 {
		s.leads(l.Reparse, path)
		return nil
	}
	if len(s.found) == maxDanglingFound {
		return errdefs.FailedPrecondition.Errorf(reason.TooManyEntries,
			"there are more than %d mount points and links that lead nowhere; the search stopped at %s", maxDanglingFound, path)
	}
	s.found = append(s.found, &api.Dangling{Path: path.String(), Target: target, Kind: kind})
	return nil
}

// leadsNowhere returns what is missing where a link or mount point leads, and the target; kind 0: nothing is, or the
// search does not look for links of its kind.
func (s *brokenLinkScan) leadsNowhere(at winfs.Stat, path winpath.Path) (kind api.DanglingKind, target string,
	err error) {
	to, err := winfs.TargetOf(at.Reparse)
	if err != nil || s.volumesOnly && to.Kind != winpath.TargetVolume {
		return 0, "", nil //nolint:nilerr // no call of ours makes a reparse point of another kind
	}
	switch to.Kind {
	case winpath.TargetVolume:
		if !s.op.fs.VolumePresent(to.Volume) {
			return api.DanglingKind_DANGLING_KIND_MOUNT_POINT, to.Volume.String(), nil
		}
	case winpath.TargetUNC:
		key := winfs.ShareKey(to.Server, to.Share)
		mapping, err := s.op.fs.Mapping(key)
		if err != nil {
			return 0, "", err
		}
		if mapping == nil { // otherwise its state shows whether the share answers
			return api.DanglingKind_DANGLING_KIND_SHARE, key, nil
		}
	case winpath.TargetLocal:
		return s.op.endsNowhere(at, path), to.Path.String(), nil
	}
	return 0, "", nil // it leads somewhere, or is relative: kubelet makes relative links for its own use
}

// isStale reports whether nothing is mounted at a path that the mount manager lists. It goes on listing mount points
// that were removed behind its back. A drive letter is the mount manager's own.
func (o *op) isStale(path string) bool {
	if isDriveRoot(path) {
		return false
	}
	_, err := o.kernel.VolumeNameForMountPoint(path)
	return errdefs.IsMissing(err) || errdefs.HasCode(err, win32.ERROR_NOT_A_REPARSE_POINT, win32.ERROR_INVALID_PARAMETER)
}

// endsNowhere returns what is missing where a link to a path of this node ends, 0 if nothing is or if the path policy
// forbids following. If a volume at the end is gone, the search finds its mount point itself.
func (o *op) endsNowhere(s winfs.Stat, at winpath.Path) api.DanglingKind {
	end, s, err := o.fs.ResolveFrom(s, at)
	switch {
	case errdefs.IsMissing(err):
		return api.DanglingKind_DANGLING_KIND_LINK
	case err == nil && s.Reparse == nil:
		if _, _, staged := kubeletpath.ParseStaged(end.String()); staged {
			return api.DanglingKind_DANGLING_KIND_NOT_MOUNTED // what a pod writes there fills the system disk
		}
	}
	return 0
}
