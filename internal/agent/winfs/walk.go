// SPDX-License-Identifier: Apache-2.0

package winfs

import (
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// MaxLinks limits the links followed for one path; Windows has the same limit.
const MaxLinks = 63

// MaxPinnedLinks limits them where everything on the way stays open, because each link may bring a path of a hundred
// directories. A driver's path has one or two.
const MaxPinnedLinks = 8

// Walk is how to walk to a location.
type Walk struct {
	// Create: make directories that are missing on the way.
	Create bool
	// Pin: until the location is closed, nothing on the way can be renamed or removed, for calls that take a path as text.
	Pin bool
	// Look: hold no share, so that a removal of its mapping does not wait for the server. If the mapping is removed
	// between its check and the opening, Windows shows the server this machine's account, as if others had removed it.
	Look bool

	links *int // how many more links it follows; nil: it has not begun
}

// OpenDirectory is the access to walk through a directory.
const OpenDirectory = win32.FILE_LIST_DIRECTORY | win32.FILE_TRAVERSE | win32.FILE_READ_ATTRIBUTES

func (w Walk) how(disposition, options uint32) kernel.OpenOptions {
	share := uint32(win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE | win32.FILE_SHARE_DELETE)
	if w.Pin {
		share &^= win32.FILE_SHARE_DELETE
	}
	return kernel.OpenOptions{Access: OpenDirectory, Share: share, Disposition: disposition, Options: options}
}

// Locate walks to the directory that holds the last component of a path. A missing directory on the way is an error
// with ERROR_FILE_NOT_FOUND or ERROR_PATH_NOT_FOUND in it: see errdefs.IsMissing.
func (fs *FS) Locate(path winpath.Path, w Walk) (*Location, error) {
	root, rest, err := fs.checkDirs(path)
	if err != nil {
		return nil, err
	}
	return fs.walk(path, root, rest, w)
}

// OpenAt is Locate, and Open of the object there.
func (fs *FS) OpenAt(path winpath.Path, w Walk, access uint32) (*Location, *File, error) {
	loc, h, err := fs.reach(path, w, kernel.OpenOptions{Access: access})
	if err != nil {
		return nil, nil, err
	}
	l, err := LookAt(h)
	if err != nil {
		loc.Close()
		return nil, nil, err
	}
	return loc, l, nil
}

// reach opens the object at a path, as Open does. If nothing is to be made or pinned, it tries the whole path in one
// step, which works if no link is on the way. It walks after every failure but one: only the last name is missing.
func (fs *FS) reach(path winpath.Path, w Walk, how kernel.OpenOptions) (*Location, kernel.Handle, error) {
	root, rest, err := fs.checkDirs(path)
	if err != nil {
		return nil, nil, err
	}
	if len(rest) > 0 && !w.Create && !w.Pin {
		loc := &Location{Path: path, fs: fs}
		how := loc.openAsIs(how)
		how.DontReparse = true
		h, err := fs.kernel.OpenFile(nil, path.Extended(), how)
		switch {
		case err == nil:
			loc.dir = loc.own(h)
			return loc, h, nil
		case errdefs.HasCode(err, win32.ERROR_FILE_NOT_FOUND):
			return nil, nil, err
		}
	}
	return fs.walkTo(path, root, rest, w, how)
}

// walkTo walks to the object at a path and opens it, as Open does.
func (fs *FS) walkTo(path, root winpath.Path, rest []string, w Walk,
	how kernel.OpenOptions) (*Location, kernel.Handle, error) {
	loc, err := fs.walk(path, root, rest, w)
	if err != nil {
		return nil, nil, err
	}
	if loc.name == "" {
		return loc, loc.dir, nil
	}
	h, err := loc.open(loc.openAsIs(how))
	if err != nil {
		loc.Close()
		return nil, nil, err
	}
	return loc, h, nil
}

// begun returns the walk, which counts the links that it follows from here on, to whatever paths they lead.
func (w Walk) begun() Walk {
	if w.links != nil {
		return w
	}
	w.links = new(MaxLinks)
	if w.Pin {
		*w.links = MaxPinnedLinks
	}
	return w
}

// walk walks to the directory that holds the last component of a path below a working directory.
func (fs *FS) walk(path, root winpath.Path, rest []string, w Walk) (*Location, error) {
	w = w.begun()
	loc := &Location{Path: path, fs: fs, pinned: w.Pin}
	if err := fs.enterRoot(loc, root, w); err != nil {
		return nil, err
	}
	for i, name := range rest {
		if i == len(rest)-1 {
			loc.name = name
			return loc, nil
		}
		target, err := fs.enter(loc, name, w)
		if err != nil {
			loc.Close()
			return nil, err
		}
		if target == nil {
			continue
		}
		// A link: continue from its target, which the policy treats like any other path. On a pinned way the handles opened
		// so far stay open until the next location closes them, so that the link cannot be swapped.
		if !w.Pin {
			loc.Close()
		}
		next, err := fs.locateLink(*target, rest[i+1:], w)
		if err != nil {
			loc.Close()
			return nil, err
		}
		next.Path, next.opened = path, append(loc.opened, next.opened...)
		return next, nil
	}
	return loc, nil
}

// enterRoot opens a working directory. It may itself lie behind a link; that is the operator's choice.
func (fs *FS) enterRoot(loc *Location, root winpath.Path, w Walk) error {
	h, err := loc.openIn(nil, root.Extended(), w.how(win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
	if err != nil {
		return errdefs.Errorf(rootError{err}, "opening the working directory %s, of -kubelet-path or -working-dir", root)
	}
	loc.dir = h
	return nil
}

// A rootError says that a working directory cannot be opened. No call can make a missing one.
type rootError struct{ error }

func (e rootError) Unwrap() error { return e.error }

func (fs *FS) locateLink(target winpath.Path, rest []string, w Walk) (*Location, error) {
	if *w.links--; *w.links < 0 {
		return nil, errdefs.FailedPrecondition.Errorf(reason.LinkRefused, "%s: too many links on the way", target)
	}
	for _, name := range rest {
		var err error
		if target, err = target.Join(name); err != nil {
			return nil, invalidPath(err)
		}
	}
	return fs.Locate(target, w)
}

// enter goes one directory down. If the component is a link that may be followed, it returns the link's target instead.
func (fs *FS) enter(loc *Location, name string, w Walk) (link *winpath.Path, err error) {
	disposition := uint32(win32.FILE_OPEN)
	if w.Create {
		disposition = win32.FILE_OPEN_IF
	}
	h, err := loc.openIn(loc.dir, name, w.how(disposition, win32.FILE_DIRECTORY_FILE|win32.FILE_OPEN_REPARSE_POINT))
	if errdefs.HasCode(err, win32.ERROR_DIRECTORY, win32.ERROR_ALREADY_EXISTS) {
		return nil, errdefs.FailedPrecondition.WrapErrorf(err, reason.NotADirectory,
			"a component of %s is a file, not a directory: %s", loc.Path, name)
	}
	if err != nil {
		return nil, errdefs.Errorf(err, "opening %q on the way to %s", name, loc.Path)
	}
	l, err := LookAt(h)
	if err != nil {
		return nil, errdefs.Errorf(err, "examining %q on the way to %s", name, loc.Path)
	}
	if l.Reparse == nil {
		loc.dir = h
		return nil, nil //nolint:nilnil // no link, no error
	}
	if loc.inVolume {
		return nil, refusedLink(loc.Path, name, "it lies inside a mounted volume or share, where workloads write")
	}
	return fs.followReparse(loc, name, l.Reparse, w)
}

// followReparse decides whether the walk may pass a reparse point, and enters the volume of a mount point.
func (fs *FS) followReparse(
	loc *Location, name string, reparse *win32.ReparsePoint, w Walk,
) (link *winpath.Path, err error) {
	target, err := TargetOf(reparse)
	switch {
	case err != nil:
		return nil, refusedLink(loc.Path, name, err.Error())
	case target.Kind == winpath.TargetVolume:
		root, err := fs.enterVolume(target, w)
		if err != nil {
			return nil, errdefs.Errorf(err, "entering the volume mounted at %q on the way to %s", name, loc.Path)
		}
		loc.dir, loc.inVolume = loc.own(root), true
		return nil, nil //nolint:nilnil // no link, no error
	case target.Kind == winpath.TargetLocal:
		if _, _, err := fs.policy.dirs.Check(target.Path); err != nil {
			return nil, refusedLink(loc.Path, name, notAllowed(target.Path, err))
		}
		return &target.Path, nil
	case target.Kind == winpath.TargetUNC:
		return nil, fs.enterShare(loc, name, target.UNC, w)
	default:
		return nil, refusedLink(loc.Path, name, "it is a relative link")
	}
}

func (fs *FS) enterVolume(target winpath.Target, w Walk) (kernel.Handle, error) {
	if len(target.Rest) > 0 {
		return nil, errdefs.FailedPrecondition.Errorf(reason.LinkRefused, "it is not the root of a volume that is mounted")
	}
	system, err := fs.SystemVolume()
	if err != nil {
		return nil, err
	}
	if system == target.Volume {
		return nil, errdefs.FailedPrecondition.Errorf(reason.LinkRefused, "it is the system volume")
	}
	// from here on, a hang is one of that volume
	if _, err := fs.run.TrackObject(operation.Volume(target.Volume)); err != nil {
		return nil, err
	}
	h, err := fs.kernel.OpenFile(nil, target.Volume.String(), w.how(win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
	if errdefs.IsMissing(err) { // not a missing path: there is a mount point, and its volume may come back
		return nil, errdefs.FailedPrecondition.Errorf(reason.VolumeGone,
			"the volume %s, which is mounted on the way, is not present", target.Volume)
	}
	return h, err
}

// notAllowed says why a link to a path is not followed, and which flag of the agent would allow it.
func notAllowed(target winpath.Path, err error) string {
	return fmt.Sprintf("%v; the agent's flag -working-dir=%s would allow it", err, target)
}

func refusedLink(path winpath.Path, name, why string) error {
	return errdefs.FailedPrecondition.Errorf(reason.LinkRefused,
		"%s: the link or mount point %q on the way is not followed: %s", path, name, why)
}
