// SPDX-License-Identifier: Apache-2.0

package winfs

import (
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// LinkTarget returns the target of the link at a path. The target must itself be acceptable to the path policy.
func (fs *FS) LinkTarget(s Stat, at winpath.Path, links *int) (winpath.Path, error) {
	refuse := func(format string, args ...any) (winpath.Path, error) {
		return winpath.Path{}, errdefs.FailedPrecondition.Errorf(reason.LinkRefused, format, args...)
	}
	if *links--; *links < 0 {
		return refuse("%s: too many links on the way", at)
	}
	target, err := TargetOf(s.Reparse)
	switch {
	case err != nil:
		return refuse("the link %s is not followed: %v", at, err)
	case target.Kind == winpath.TargetUNC:
		return refuse("the link %s leads to a network share, not to a volume", at)
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

// Follow opens the object that a path leads to, through links and into a mounted volume.
func (fs *FS) Follow(path winpath.Path) (*Location, *File, error) {
	links := MaxLinks
	for at := path; ; {
		loc, h, err := fs.LookUp(at, &links)
		if err != nil {
			return nil, nil, err
		}
		l, err := LookAt(h)
		if err == nil && l.Reparse == nil {
			return loc, l, nil
		}
		loc.Close()
		if err != nil {
			return nil, nil, err
		}
		target, err := TargetOf(l.Reparse)
		if err == nil && target.Kind == winpath.TargetVolume {
			return fs.rootOf(target)
		}
		if at, err = fs.LinkTarget(l.Stat, at, &links); err != nil {
			return nil, nil, err
		}
	}
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
