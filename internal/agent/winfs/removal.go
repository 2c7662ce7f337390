// SPDX-License-Identifier: Apache-2.0

package winfs

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// removal removes a tree. Its memory and handles do not grow with the tree, whose width and depth a workload controls:
// names are read a buffer at a time, and what lies deeper than a few levels is moved up first. A removal that is broken
// off keeps its progress, and the next one finishes it.
type removal struct {
	fs      *FS
	levels  []*level // the directory to empty, and open directories below it, each in the one before
	flushed map[winpath.VolumeID]bool

	// Of one pass over the tree:
	entries bool  // the directory to empty has some
	gone    bool  // an object was removed or moved up
	again   bool  // something was put off until the next pass
	err     error // why the first object stays that could not be removed
}

// level is an open directory of the tree.
type level struct {
	Entries
	parent *level    // nil: the directory to empty
	loc    *Location // in the parent
	path   fmt.Stringer
}

// below is the path of an entry, for messages. It is built only when it is shown: there may be a million entries.
type below struct {
	directory fmt.Stringer
	name      string
}

func (b below) String() string { return b.directory.String() + `\` + b.name }

const (
	// OpenContents is the access to list a directory and to open what is in it.
	OpenContents = win32.FILE_LIST_DIRECTORY | win32.FILE_TRAVERSE
	// openRemoval asks for no right to read: scanners would look into each file, and what may not be read would stay.
	openRemoval = win32.DELETE | win32.FILE_WRITE_ATTRIBUTES

	// MaxOpenLevels is how many levels are open below the directory to empty. Most trees are not deeper. On the emulated
	// node, each takes three handles of the host.
	MaxOpenLevels = 12
)

// RemoveTree deletes the object at a location; with force, a plain directory is deleted together with its content. If
// the object is a file, it returns the error for that. Found is false, and the error says why, if nothing is there.
func (fs *FS) RemoveTree(loc *Location, path fmt.Stringer, force bool, isFile error) (found bool, err error) {
	r := removal{fs: fs, flushed: map[winpath.VolumeID]bool{}}
	for round := 0; ; round++ {
		found, err := r.removeObject(loc, path, isFile)
		switch {
		case !found && round > 0:
			return true, nil // another program was faster
		case !found:
			return false, err
		case !errdefs.HasCode(err, win32.ERROR_DIR_NOT_EMPTY) || !force:
			return true, err
		}
		// A directory that a program still fills gets as much time as a file that is still open.
		if round > 1 && !fs.run.WaitShared() {
			return true, beingFilled(path, err)
		}
		if err := r.removeContentsAt(loc, path); err != nil {
			return true, err
		}
	}
}

// RemoveContents removes the content of an open directory. It goes on past objects that cannot be removed.
func (fs *FS) RemoveContents(directory *File, path fmt.Stringer) error {
	r := removal{fs: fs, flushed: map[winpath.VolumeID]bool{}}
	return r.removeContents(directory, path)
}

func beingFilled(path fmt.Stringer, err error) error {
	return errdefs.Unavailable.WrapErrorf(err, reason.DirectoryNotEmpty,
		"%s is being filled while it is being removed", path)
}

// removeContentsAt removes the content of the directory at a location. A link or mount point swapped in stays.
func (r *removal) removeContentsAt(loc *Location, path fmt.Stringer) error {
	l, err := loc.Open(OpenContents)
	if errdefs.IsMissing(err) {
		return nil
	}
	if err != nil {
		return errdefs.Errorf(err, "opening %s to empty it", path)
	}
	defer loc.Release(l.Handle)
	if !l.IsPlainDirectory() {
		return nil
	}
	return r.removeContents(l, path)
}

// removeContents removes the content of an open directory, in passes over the tree until one finds nothing. A pass does
// not stop at an object that cannot be removed; without any other progress it is the last.
func (r *removal) removeContents(directory *File, path fmt.Stringer) error {
	for rounds := 0; ; {
		r.pass(directory, path)
		switch {
		case !r.entries || r.err != nil && !r.gone:
			return r.err
		case r.again && r.gone:
			continue
		}
		if rounds++; rounds > 2 && !r.fs.run.WaitShared() {
			if r.err != nil {
				return r.err
			}
			return beingFilled(path, nil)
		}
	}
}

// pass goes over the tree once.
func (r *removal) pass(directory *File, path fmt.Stringer) {
	r.entries, r.gone, r.again, r.err = false, false, false, nil
	r.levels = []*level{{Entries: Entries{Directory: directory}, path: path}}
	defer func() { // after a panic
		for len(r.levels) > 0 {
			r.pop()
		}
	}()
	for len(r.levels) > 0 {
		top := r.levels[len(r.levels)-1]
		entry, err := top.Next()
		if err != nil {
			r.recordFailure(errdefs.Errorf(err, "listing %s", top.path))
		}
		if entry != nil {
			r.removeEntry(top, entry.Name)
		} else {
			r.finishLevel()
		}
	}
}

// recordFailure records why an object could not be removed.
func (r *removal) recordFailure(err error) { r.err = cmp.Or(r.err, err) }

// removeEntry removes one entry of a level, or goes down into it.
func (r *removal) removeEntry(in *level, name string) {
	if in.parent == nil {
		r.entries = true
	}
	loc := r.fs.Child(in.Directory.Handle, name)
	loc.pinned = true
	if path := (below{in.path, name}); r.removeUnlessFull(loc, path) {
		r.enter(in, loc, path)
	}
}

// removeUnlessFull removes an object, or reports that it is a directory with entries.
func (r *removal) removeUnlessFull(loc *Location, path fmt.Stringer) (full bool) {
	found, err := r.removeObject(loc, path, nil)
	switch {
	case !found:
	case err == nil:
		r.gone = true
	case errdefs.HasCode(err, win32.ERROR_DIR_NOT_EMPTY):
		return true
	default:
		r.recordFailure(err)
	}
	return false
}

// enter opens a directory with content as the next level. With MaxOpenLevels open, it moves the directory up instead.
// If that fails, because a file in it is open or the file system cannot move it, the uppermost level is closed and left
// to the next pass.
func (r *removal) enter(parent *level, loc *Location, path fmt.Stringer) {
	if len(r.levels) > MaxOpenLevels {
		if r.moveUp(loc, path) {
			return
		}
		r.levels[1].close()
		r.levels = slices.Delete(r.levels, 1, 2)
		r.again = true
	}
	l, err := loc.Open(OpenContents)
	switch {
	case errdefs.IsMissing(err):
	case err != nil:
		r.recordFailure(errdefs.Errorf(err, "opening %s to empty it", path))
	case !l.IsPlainDirectory(): // something else has come there
		loc.Close()
	default:
		r.levels = append(r.levels, &level{Entries: Entries{Directory: l}, parent: parent, loc: loc, path: path})
	}
}

// moveUp moves a directory from deep in the tree into the directory that is being emptied, under a new name. Its handle
// decides what is moved: a plain directory that was opened in the tree.
func (r *removal) moveUp(loc *Location, path fmt.Stringer) bool {
	l, err := loc.Open(win32.DELETE)
	if err != nil {
		return errdefs.IsMissing(err)
	}
	defer loc.Release(l.Handle)
	if !l.IsPlainDirectory() {
		return false
	}
	name := "csi-proxy-" + rand.Text()
	if err := r.fs.run.RetryShared(func() error { return l.Rename(r.levels[0].Directory.Handle, name) }); err != nil {
		klog.FromContext(r.fs.run.Context).V(2).Info("A directory deep in a tree was not moved up", "path", path, "err", err)
		return false
	}
	r.gone, r.again = true, true
	return true
}

// finishLevel closes the last level, and removes its directory. One that still has entries is left to the next pass.
func (r *removal) finishLevel() {
	top := r.pop()
	if top.parent != nil && r.levels[len(r.levels)-1] == top.parent { // or the parent had to be closed
		r.removeUnlessFull(top.loc, top.path)
	}
}

// pinned reports whether all directories from the one that is being emptied down to the last level are open, so that
// none can be renamed or replaced.
func (r *removal) pinned() bool { return len(r.levels) < 2 || r.levels[1].parent == r.levels[0] }

func (r *removal) pop() *level {
	top := r.levels[len(r.levels)-1]
	r.levels = r.levels[:len(r.levels)-1]
	top.close()
	return top
}

func (l *level) close() {
	if l.loc != nil { // the directory to empty is its opener's
		l.loc.Close()
	}
}
