// SPDX-License-Identifier: Apache-2.0

package winfs

import (
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// Resolve follows links at a path, as far as they lead to paths of the node. It returns where they end, and what is
// there: no link, a mount point, or a link to a share.
func (fs *FS) Resolve(path winpath.Path) (winpath.Path, Stat, error) {
	w := Walk{}.begun()
	s, err := fs.stat(path, w)
	if err != nil {
		return path, s, err
	}
	return fs.resolve(s, path, w, fs.stat)
}

// ResolveFrom is Resolve for a path at which the object was found already.
func (fs *FS) ResolveFrom(s Stat, at winpath.Path) (winpath.Path, Stat, error) {
	return fs.resolve(s, at, Walk{}.begun(), fs.stat)
}

func (fs *FS) resolve(s Stat, at winpath.Path, w Walk,
	look func(at winpath.Path, w Walk) (Stat, error)) (winpath.Path, Stat, error) {
	for {
		_, mounted := s.MountedVolume()
		_, share := s.Share()
		if s.Reparse == nil || mounted || share {
			return at, s, nil
		}
		var err error
		if at, err = fs.linkTarget(s, at, w); err != nil {
			return at, s, err
		}
		if s, err = look(at, w); err != nil {
			return at, s, err
		}
	}
}

// linkTarget returns the target of the link at a path. The target must itself be acceptable to the path policy.
func (fs *FS) linkTarget(s Stat, at winpath.Path, w Walk) (winpath.Path, error) {
	refuse := func(format string, args ...any) (winpath.Path, error) {
		return at, errdefs.FailedPrecondition.Errorf(reason.LinkRefused, format, args...)
	}
	if *w.links--; *w.links < 0 {
		return refuse("%s: too many links on the way", at)
	}
	target, err := TargetOf(s.Reparse)
	switch {
	case err != nil:
		return refuse("the link %s is not followed: %v", at, err)
	case target.Kind == winpath.TargetRelative:
		return refuse("the link %s is not followed: it is a relative link", at)
	case target.Kind == winpath.TargetVolume:
		return refuse("the link %s leads into a volume by its name and is not followed", at)
	}
	if _, _, err := fs.policy.dirs.Check(target.Path); err != nil {
		return refuse("the link %s is not followed: %s", at, notAllowed(target.Path, err))
	}
	return target.Path, nil
}

// LeadsToShare returns the refusal of a link to a share, where a volume is wanted.
func LeadsToShare(at winpath.Path) error {
	return errdefs.FailedPrecondition.Errorf(reason.OnShare,
		"the link %s leads to a network share, not to a volume", at)
}

// Follow opens the object that a path leads to, through links and into a mounted volume.
func (fs *FS) Follow(path winpath.Path) (_ *Location, _ *File, err error) {
	var loc *Location
	var l *File
	look := func(at winpath.Path, w Walk) (s Stat, err error) {
		if loc != nil {
			loc.Close()
		}
		if loc, l, err = fs.OpenAt(at, w, 0); err == nil {
			s = l.Stat
		}
		return s, err
	}
	w, at := Walk{}.begun(), path
	s, err := look(path, w)
	if err == nil {
		at, s, err = fs.resolve(s, path, w, look)
	}
	if err == nil && s.Reparse == nil {
		return loc, l, nil
	}
	if loc != nil {
		loc.Close()
	}
	if err != nil {
		return nil, nil, err
	}
	if _, share := s.Share(); share {
		return nil, nil, LeadsToShare(at)
	}
	target, err := TargetOf(s.Reparse)
	if err != nil {
		return nil, nil, err
	}
	return fs.rootOf(target)
}

// rootOf opens the root of a mounted volume.
func (fs *FS) rootOf(target winpath.Target) (*Location, *File, error) {
	root, err := fs.enterVolume(target, Walk{})
	if err != nil {
		return nil, nil, err
	}
	loc := &Location{fs: fs, inVolume: true}
	loc.dir = loc.own(root)
	l, err := loc.Open(0)
	if err != nil {
		loc.Close()
		return nil, nil, err
	}
	return loc, l, nil
}
