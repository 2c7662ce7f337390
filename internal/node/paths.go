// SPDX-License-Identifier: Apache-2.0

package node

import (
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// The path policy: which paths callers may name, and where these may lead.
//
// A path is accepted as text if its grammar allows a single reading and it lies in a working directory. It is then
// walked component by component, each opened relative to the handle of the one before, so that nothing swapped
// meanwhile can redirect it. On the way,
//   - a volume mounted on the file system of a working directory is entered,
//   - a link on that file system is followed where its target is acceptable by this same policy, or a share that is
//     mapped,
//   - anything of the kind inside a mounted volume or a share is refused: workloads write there.
//
// The last component is not followed; the operation decides what a link there means.

// maxLinks limits the links followed for one path; Windows has the same limit.
const maxLinks = 63

// maxPinnedLinks limits them where everything on the way stays open: each may bring a path of a hundred directories. A
// driver's path has one or two.
const maxPinnedLinks = 8

// parsePath accepts a path as text. The volume group and IsSymlink read / as \; the others refuse it.
func (n *Node) parsePath(text string, slashes winpath.Options) (winpath.Path, error) {
	path, err := winpath.Parse(text, slashes)
	if err != nil {
		return winpath.Path{}, invalidPath(err)
	}
	if _, _, err := n.dirs.Check(path); err != nil {
		return winpath.Path{}, outside(err)
	}
	return path, nil
}

// notWorkingDir refuses a working directory as the object of an operation.
func (n *Node) notWorkingDir(path winpath.Path, verb string) error {
	if _, rest, err := n.dirs.Check(path); err == nil && len(rest) == 0 {
		return errdefs.FailedPrecondition.Errorf(reason.WorkingDirItself,
			"%s is a working directory itself and cannot be %s", path, verb)
	}
	return nil
}

// walk is how to walk to a place.
type walk struct {
	// create: make directories that are missing on the way.
	create bool
	// pin: until the place is closed, prevent everything on the way from being renamed or removed, for calls that take
	// a path as text.
	pin bool
}

const openDirectory = win32.FILE_LIST_DIRECTORY | win32.FILE_TRAVERSE | win32.FILE_READ_ATTRIBUTES

func (w walk) how(disposition, options uint32) kernel.OpenHow {
	share := uint32(win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE | win32.FILE_SHARE_DELETE)
	if w.pin {
		share &^= win32.FILE_SHARE_DELETE
	}
	return kernel.OpenHow{Access: openDirectory, Share: share, Disposition: disposition, Options: options}
}

// locate walks to the directory that holds the last component of a path. A missing directory on the way is an error
// with ERROR_FILE_NOT_FOUND or ERROR_PATH_NOT_FOUND in it: see missing.
func (o *op) locate(path winpath.Path, w walk) (*place, error) {
	links := maxLinks
	if w.pin {
		links = maxPinnedLinks
	}
	return o.locateWithin(path, w, &links)
}

func (o *op) locateWithin(path winpath.Path, w walk, links *int) (*place, error) {
	root, rest, err := o.checkDirs(path)
	if err != nil {
		return nil, err
	}
	return o.walk(path, root, rest, w, links)
}

// walk walks to the directory that holds the last component of a path below a working directory.
func (o *op) walk(path, root winpath.Path, rest []string, w walk, links *int) (*place, error) {
	pl := &place{path: path, pinned: w.pin}
	if err := o.enterRoot(pl, root, w); err != nil {
		return nil, err
	}
	for i, name := range rest {
		if i == len(rest)-1 {
			pl.name = name
			return pl, nil
		}
		target, err := o.enter(pl, name, w)
		if err != nil {
			pl.close()
			return nil, err
		}
		if target == nil {
			continue
		}
		// A link: continue from its target, which the policy treats like any other path. On a pinned way the handles opened
		// so far stay open until the next place closes them, so that the link cannot be swapped.
		if !w.pin {
			pl.close()
		}
		next, err := o.locateLink(*target, rest[i+1:], w, links)
		if err != nil {
			pl.close()
			return nil, err
		}
		next.path, next.opened = path, append(pl.opened, next.opened...)
		return next, nil
	}
	return pl, nil
}

// enterRoot opens a working directory. It may itself lie behind a link; that is the operator's choice.
func (o *op) enterRoot(pl *place, root winpath.Path, w walk) error {
	var h kernel.Handle
	err := o.RetryShared(func() (err error) {
		h, err = o.Kernel.OpenFile(nil, root.Extended(), w.how(win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
		return err
	})
	if err != nil {
		return errdefs.Wrapf(err, "opening the working directory %s", root)
	}
	pl.dir = pl.own(h)
	return nil
}

func (o *op) locateLink(target winpath.Path, rest []string, w walk, links *int) (*place, error) {
	if *links--; *links < 0 {
		return nil, errdefs.FailedPrecondition.Errorf(reason.LinkRefused, "%s: too many links on the way", target)
	}
	for _, name := range rest {
		var err error
		if target, err = target.Join(name); err != nil {
			return nil, invalidPath(err)
		}
	}
	return o.locateWithin(target, w, links)
}

// enter goes one directory down. If the component is a link that may be followed, it returns the link's target instead.
func (o *op) enter(pl *place, name string, w walk) (link *winpath.Path, err error) {
	disposition := uint32(win32.FILE_OPEN)
	if w.create {
		disposition = win32.FILE_OPEN_IF
	}
	var h kernel.Handle
	err = o.RetryShared(func() (err error) {
		h, err = o.Kernel.OpenFile(pl.dir, name, w.how(disposition, win32.FILE_DIRECTORY_FILE|win32.FILE_OPEN_REPARSE_POINT))
		return err
	})
	if errdefs.HasCode(err, win32.ERROR_DIRECTORY, win32.ERROR_ALREADY_EXISTS) {
		return nil, errdefs.FailedPrecondition.Wrapf(err, reason.NotADirectory,
			"a component of %s is a file, not a directory: %s", pl.path, name)
	}
	if err != nil {
		return nil, errdefs.Wrapf(err, "opening %q on the way to %s", name, pl.path)
	}
	pl.own(h)
	l, err := lookAt(h)
	if err != nil {
		return nil, errdefs.Wrapf(err, "examining %q on the way to %s", name, pl.path)
	}
	if l.reparse == nil {
		pl.dir = h
		return nil, nil //nolint:nilnil // no link, no error
	}
	if pl.inVolume {
		return nil, refusedLink(pl.path, name, "it lies inside a mounted volume or share, where workloads write")
	}
	return o.pass(pl, name, l.reparse, w)
}

// pass decides whether the walk may pass through a reparse point on the way, and enters the volume of a mount point.
func (o *op) pass(pl *place, name string, reparse *win32.ReparsePoint, w walk) (link *winpath.Path, err error) {
	target, err := targetOf(reparse)
	switch {
	case err != nil:
		return nil, refusedLink(pl.path, name, err.Error())
	case target.Kind == winpath.TargetVolume:
		root, err := o.enterVolume(target, w)
		if err != nil {
			return nil, errdefs.Wrapf(err, "entering the volume mounted at %q on the way to %s", name, pl.path)
		}
		pl.dir, pl.inVolume = pl.own(root), true
		return nil, nil //nolint:nilnil // no link, no error
	case target.Kind == winpath.TargetLocal:
		if _, _, err := o.node.dirs.Check(target.Path); err != nil {
			return nil, refusedLink(pl.path, name, err.Error())
		}
		return &target.Path, nil
	case target.Kind == winpath.TargetUNC:
		return nil, o.enterShare(pl, name, target, w)
	default:
		return nil, refusedLink(pl.path, name, "it is a relative link")
	}
}

func (o *op) enterVolume(target winpath.Target, w walk) (kernel.Handle, error) {
	if len(target.Rest) > 0 {
		return nil, errdefs.FailedPrecondition.Errorf(reason.LinkRefused, "it is not the root of a volume that is mounted")
	}
	system, err := o.systemVolume()
	if err != nil {
		return nil, err
	}
	if system == target.Volume {
		return nil, errdefs.FailedPrecondition.Errorf(reason.LinkRefused, "it is the system volume")
	}
	// from here on, that volume's file system answers
	if _, err := o.TrackObject(operation.Volume(target.Volume)); err != nil {
		return nil, err
	}
	h, err := o.Kernel.OpenFile(nil, target.Volume.String(), w.how(win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
	if errdefs.IsMissing(err) { // not a missing path: there is a mount point, and its volume may come back
		return nil, errdefs.FailedPrecondition.Errorf(reason.VolumeGone,
			"the volume %s, which is mounted on the way, is not present", target.Volume)
	}
	return h, err
}

func refusedLink(path winpath.Path, name, why string) error {
	return errdefs.FailedPrecondition.Errorf(reason.LinkRefused,
		"%s: the link or mount point %q on the way is not followed: %s", path, name, why)
}

// invalidPath returns the error for a path that the grammar refuses.
func invalidPath(err error) error {
	return errdefs.InvalidArgument.Wrapf(err, reason.InvalidPath, "%v", err)
}

// outside returns the error for a path that the grammar accepts but that lies outside the working directories.
func outside(err error) error {
	return errdefs.InvalidArgument.Wrapf(err, reason.OutsideWorkingDirs, "%v", err)
}
