// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// Rmdir removes a directory, a link or a mount point. It never touches a link's target or the content of a mounted
// volume, because drivers unmount with it. Without force, a plain directory must be empty and a missing path is an error;
// with force, the content is removed too and a missing path is success. The name is free when Rmdir returns or, on a
// file system that deletes at the last close, when other programs have closed the directory. Of identical calls that overlap,
// each gets the answer of one removal.
func (f *Filesystem) Rmdir(ctx context.Context, path string, force bool) error {
	parsed, err := f.node.parsePath(path, winpath.Options{})
	if err != nil {
		return err
	}
	if err := f.node.notWorkingDir(parsed, "removed"); err != nil {
		return err
	}
	what := on("Rmdir", pathObject(parsed))
	what.arguments = fmt.Sprintf("force=%t", force)
	return f.node.change(ctx, what, func(o *op) error { return o.rmdir(parsed, force) })
}

func (o *op) rmdir(path winpath.Path, force bool) error {
	gone := func(err error) error {
		if force {
			return nil
		}
		return pathNotFound(path, err)
	}
	pl, err := o.locate(path, walk{pin: true, late: true})
	if missing(err) {
		return gone(err)
	}
	if err != nil {
		return err
	}
	defer pl.close()
	found, err := o.removeTree(pl, path.String(), force,
		errorf(FailedPrecondition, reason.NotADirectory, "%s is a file; Rmdir removes directories, links and mount points", path))
	if !found {
		return gone(err)
	}
	if hasCode(err, win32.ERROR_DIR_NOT_EMPTY) && !force {
		return &Error{Class: FailedPrecondition, Reason: reason.DirectoryNotEmpty, Err: err, Message: path.String() + " is not empty"}
	}
	return err
}

// RmdirContents removes the content of a directory and keeps the directory. Links and mount points in it are removed, not
// followed. A path that is itself a link or mount point is refused: its content is somebody's data.
func (f *Filesystem) RmdirContents(ctx context.Context, path string) error {
	parsed, err := f.node.parsePath(path, winpath.Options{})
	if err != nil {
		return err
	}
	if err := f.node.notWorkingDir(parsed, "emptied"); err != nil {
		return err
	}
	return f.node.change(ctx, on("RmdirContents", pathObject(parsed)), func(o *op) error { return o.rmdirContents(parsed) })
}

func (o *op) rmdirContents(path winpath.Path) error {
	pl, err := o.locate(path, walk{pin: true})
	if missing(err) {
		return pathNotFound(path, err)
	}
	if err != nil {
		return err
	}
	defer pl.close()
	l, err := pl.open(o, openContents)
	if missing(err) {
		return pathNotFound(path, err)
	}
	if err != nil {
		return fail(err, "opening %s to empty it", path)
	}
	switch {
	case l.reparse != nil:
		return errorf(FailedPrecondition, reason.LinkRefused, "%s is a link or mount point; its target is not emptied", path)
	case !l.isDirectory():
		return errorf(FailedPrecondition, reason.NotADirectory, "%s is a file, not a directory", path)
	}
	return o.removeContents(l, path.String())
}

const (
	openContents = win32.FILE_LIST_DIRECTORY | win32.FILE_TRAVERSE
	openRemoval  = win32.DELETE | openContents | win32.FILE_WRITE_ATTRIBUTES
)

// removeTree deletes the object at a place; with force, a plain directory is deleted together with its content. If the
// object is a file, it returns the error for that; with none, the file is deleted. Found is false, and the error says
// why, if nothing is there.
//
// The object is opened anew for each step, because a handle that may delete a directory does not hold it in its place, and
// DeleteVolumeMountPointW may take such a handle for a sharing violation.
func (o *op) removeTree(pl *place, path string, force bool, isFile error) (found bool, err error) {
	for round := 0; ; round++ {
		mounted, found, err := o.removeObject(pl, path, isFile)
		switch {
		case !found:
			if round > 0 { // another program was faster
				return true, nil
			}
			return false, err
		case mounted == nil && (!hasCode(err, win32.ERROR_DIR_NOT_EMPTY) || !force):
			return true, err
		}
		// A program that still fills the directory gets as long as one that keeps a file open.
		if round > 1 && !o.sharingPatience.wait(sharingTime) {
			return true, &Error{Class: Unavailable, Reason: reason.DirectoryNotEmpty, Err: err, Message: path + " is being filled while it is being removed"}
		}
		if mounted != nil {
			err = o.unmountHere(pl, *mounted, path)
		} else {
			err = o.emptyHere(pl, path)
		}
		if err != nil {
			return true, err
		}
	}
}

// removeObject deletes the object at a place, unless it is a mount point, whose volume it returns, or has content.
func (o *op) removeObject(pl *place, path string, isFile error) (mounted *winpath.VolumeID, found bool, err error) {
	l, err := pl.open(o, openRemoval)
	if missing(err) {
		return nil, false, err
	}
	if err != nil {
		return nil, true, fail(err, "opening %s to remove it", path)
	}
	defer pl.release(l.Handle)
	if id, ok := l.mountedVolume(); ok {
		return &id, true, nil
	}
	if l.isFile() && isFile != nil {
		return nil, true, isFile
	}
	if err := o.whileShared(l.remove); err != nil && !missing(err) {
		return nil, true, fail(err, "removing %s", path)
	}
	return nil, true, nil
}

// unmountHere turns the mount point at a place back into a plain directory. A mount point of another volume, which came
// there meanwhile, stays.
func (o *op) unmountHere(pl *place, id winpath.VolumeID, path string) error {
	if err := o.flushBeforeUnmount(id); err != nil {
		klog.FromContext(o.ctx).Info("A volume was not flushed before the removal of its mount point", "volume", id, "path", path, "err", err)
	}
	l, err := pl.open(o, win32.FILE_WRITE_ATTRIBUTES)
	if missing(err) {
		return nil
	}
	if err != nil {
		return fail(err, "opening the mount point %s", path)
	}
	defer pl.release(l.Handle)
	if now, ok := l.mountedVolume(); !ok || now != id {
		return nil
	}
	return o.removeMountPoint(l, path)
}

// emptyHere removes the content of the directory at a place. It does nothing to a link or mount point, which may have come
// there meanwhile.
func (o *op) emptyHere(pl *place, path string) error {
	l, err := pl.open(o, openContents)
	if missing(err) {
		return nil
	}
	if err != nil {
		return fail(err, "opening %s to empty it", path)
	}
	defer pl.release(l.Handle)
	if !l.isPlainDirectory() {
		return nil
	}
	return o.removeContents(l, path)
}

func (o *op) removeContents(directory *leaf, path string) error {
	entries, err := directory.entries()
	if err != nil {
		return fail(err, "listing %s", path)
	}
	for _, entry := range entries {
		pl := child(directory.Handle, entry.Name)
		pl.pinned = true
		if found, err := o.removeTree(pl, path+`\`+entry.Name, true, nil); found && err != nil {
			return err
		}
	}
	return nil
}
