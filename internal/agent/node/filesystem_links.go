// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"slices"
	"strings"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

const (
	// maxLinkDepth is the depth to which a working directory is searched: kubelet's mount point of a volume is on the
	// sixth level, pods\UID\volumes\kubernetes.io~csi\NAME\mount.
	maxLinkDepth = 6
	// maxLinkEntries limits a search, because a workload can fill directories without limit.
	maxLinkEntries = 20_000
	// maxLinkText limits the paths and targets that a search returns, in bytes: they are to fit into a gRPC message.
	maxLinkText = 2 << 20
)

// Links are what a search of the working directories found.
type Links struct {
	All      []*api.Link // by path
	Shares   []ShareLink // one for each share that is mapped
	Complete bool        // all links were seen
}

// ShareLink is a link to a share.
type ShareLink struct {
	At    winpath.Path
	Share winpath.UNC
}

// Links searches the working directories, not mounted volumes, for mount points and links. With an error, it returns
// what it found before.
func (f *Filesystem) Links(ctx context.Context) (Links, error) {
	search, err := read(ctx, f.node, operation.On("Links"),
		func(o *op) (*linkSearch, error) { return o.links(false), nil })
	if err != nil {
		return Links{}, err
	}
	return Links{search.found, search.shares, search.err == nil && !search.unseen}, search.err
}

func (o *op) links(volumesOnly bool) *linkSearch {
	s := &linkSearch{op: o, left: maxLinkEntries, room: maxLinkText, tops: map[string]bool{}, volumesOnly: volumesOnly}
	s.everywhere(o.node.policy.Dirs())
	slices.SortFunc(s.found, func(a, b *api.Link) int { return strings.Compare(a.GetPath(), b.GetPath()) })
	return s
}

// linkSearch is one search. It goes on past what it cannot look at, and notes that in unseen and err.
type linkSearch struct {
	op     *op
	left   int             // entries that may still be read
	room   int             // bytes of text that may still be returned
	tops   map[string]bool // the working directories, each searched for itself: one may lie in another
	found  []*api.Link
	shares []ShareLink
	unseen bool  // something could not be opened
	err    error // why the search ended early, or else the first failure to look at an object that was not about access

	volumesOnly bool // look only for mount points
}

// everywhere searches the directories in turn.
func (s *linkSearch) everywhere(dirs []winpath.Path) {
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
func (s *linkSearch) passOver(err error, doing string, path winpath.Path) {
	if errdefs.IsMissing(err) {
		return
	}
	s.unseen = true
	if s.err == nil && !errdefs.HasCode(err, win32.ERROR_ACCESS_DENIED, win32.ERROR_SHARING_VIOLATION) {
		s.err = errdefs.Errorf(err, "%s %s", doing, path)
	}
}

func (s *linkSearch) within(dir winpath.Path) error {
	loc, l, err := s.op.fs.OpenAt(dir, winfs.Walk{}, 0)
	if err != nil {
		s.passOver(err, "searching", dir)
		return nil
	}
	defer loc.Close()
	return s.search(l, dir, 1)
}

// search looks at the entries of an open directory. Its error ends the whole search.
func (s *linkSearch) search(directory *winfs.File, at winpath.Path, depth int) error {
	if depth > 1 && s.tops[at.Key()] {
		return nil
	}
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
				"the search for mount points and links stopped after %d entries, at %s", maxLinkEntries, at)
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
		return winfs.OpenContents, e.Attributes&win32.FILE_ATTRIBUTE_DIRECTORY != 0 && depth < maxLinkDepth
	}
	switch e.ReparseTag {
	case win32.IO_REPARSE_TAG_MOUNT_POINT, win32.IO_REPARSE_TAG_SYMLINK:
		return 0, true
	}
	return 0, false // no call of ours makes another
}

// scanEntry examines one entry that is a link or a directory. Its error ends the whole search.
func (s *linkSearch) scanEntry(loc *winfs.Location, access uint32, path winpath.Path, depth int) error {
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
	link, err := s.follow(l.Stat, path)
	if err != nil {
		s.passOver(err, "looking at the link", path)
		return nil
	}
	if link == nil {
		return nil
	}
	if s.room -= len(link.GetPath()) + len(link.GetTarget()) + len(link.GetEndsAt()) + len(link.GetUnknown()); s.room < 0 {
		return errdefs.FailedPrecondition.Errorf(reason.TooManyEntries,
			"there are more than %d mount points and links; the search stopped at %s", len(s.found), path)
	}
	s.found = append(s.found, link)
	return nil
}

// follow returns what is known of a link or mount point, nil for one that the search does not look for.
func (s *linkSearch) follow(at winfs.Stat, path winpath.Path) (*api.Link, error) {
	to, err := winfs.TargetOf(at.Reparse)
	if err != nil || s.volumesOnly && to.Kind != winpath.TargetVolume {
		return nil, nil //nolint:nilerr,nilnil // no call of ours makes a reparse point of another kind
	}
	link := &api.Link{Path: path.String()}
	switch to.Kind {
	case winpath.TargetVolume:
		link.Kind, link.Target = api.Target_TARGET_VOLUME, to.Volume.String()
		link.Missing = !s.op.fs.VolumePresent(to.Volume)
	case winpath.TargetUNC:
		key := to.UNC.Key()
		link.Kind, link.Target = api.Target_TARGET_SHARE, key
		mapping, err := s.op.fs.Mapping(key)
		if err != nil {
			return nil, err
		}
		// Whether a mapped share answers shows only to those that enter it.
		link.Missing = mapping == nil
		if !link.Missing && !slices.ContainsFunc(s.shares, func(l ShareLink) bool { return l.Share.Key() == key }) {
			s.shares = append(s.shares, ShareLink{path, to.UNC})
		}
	case winpath.TargetLocal:
		link.Kind, link.Target = api.Target_TARGET_PATH, to.Path.String()
		end, stat, err := s.op.fs.ResolveFrom(at, path)
		switch {
		case errdefs.IsMissing(err):
			link.Missing = true
		case err != nil:
			link.Unknown = err.Error()
		case stat.Reparse == nil:
			link.EndsAt = end.String()
		}
	case winpath.TargetRelative:
		path, err := winpath.Parse(to.Text, winpath.Options{}) // kubelet gives drivers paths without a drive
		if err != nil {
			return nil, nil //nolint:nilerr,nilnil // within a directory: kubelet makes such links for its own use
		}
		link.Kind, link.Target = api.Target_TARGET_PATH, path.String()
	}
	return link, nil
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
