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
// file system that deletes at the last close, when other programs have closed the directory.
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
	pl, err := o.locate(path, walk{pin: true})
	if missing(err) {
		return gone(err)
	}
	if err != nil {
		return err
	}
	defer pl.close()
	l, err := pl.open(o, openRemoval)
	if missing(err) {
		return gone(err)
	}
	if err != nil {
		return fail(err, "opening %s to remove it", path)
	}
	if l.isFile() {
		return errorf(FailedPrecondition, reason.NotADirectory, "%s is a file; Rmdir removes directories, links and mount points", path)
	}
	err = o.removeTree(l, path.String(), force)
	if hasCode(err, win32.ERROR_DIR_NOT_EMPTY) && !force {
		return &Error{Class: FailedPrecondition, Reason: reason.DirectoryNotEmpty, Err: err, Message: path.String() + " is not empty"}
	}
	if missing(err) { // another program was faster
		return gone(err)
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
	l, err := pl.open(o, win32.FILE_LIST_DIRECTORY|win32.FILE_TRAVERSE)
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

const openRemoval = win32.DELETE | win32.FILE_LIST_DIRECTORY | win32.FILE_TRAVERSE | win32.FILE_WRITE_ATTRIBUTES

// removeTree deletes the open object. With force, a plain directory is deleted together with its content.
func (o *op) removeTree(l *leaf, path string, force bool) error {
	if id, ok := l.mountedVolume(); ok {
		if err := o.flushBeforeUnmount(id); err != nil {
			klog.FromContext(o.ctx).Info("A volume was not flushed before the removal of its mount point", "volume", id, "path", path, "err", err)
		}
		if err := o.removeMountPoint(l, path); err != nil {
			return err
		}
	}
	for {
		// Try first: most directories are empty or links, and a link must never be listed.
		err := o.whileShared(l.remove)
		if err == nil || missing(err) {
			return nil
		}
		if !hasCode(err, win32.ERROR_DIR_NOT_EMPTY) || !force || !l.isPlainDirectory() {
			return fail(err, "removing %s", path)
		}
		if err := o.removeContents(l, path); err != nil {
			return err
		}
		// A program that still fills the directory gets as long as one that keeps a file open.
		if err := o.whileShared(l.remove); !hasCode(err, win32.ERROR_DIR_NOT_EMPTY) {
			if err != nil {
				return fail(err, "removing %s", path)
			}
			return nil
		}
		if !o.sharingPatience.wait(sharingTime) {
			return &Error{Class: Unavailable, Reason: reason.DirectoryNotEmpty, Err: err, Message: path + " is being filled while it is being removed"}
		}
	}
}

func (o *op) removeContents(directory *leaf, path string) error {
	entries, err := directory.entries()
	if err != nil {
		return fail(err, "listing %s", path)
	}
	for _, entry := range entries {
		if err := o.removeEntry(directory, entry.Name, path+`\`+entry.Name); err != nil {
			return err
		}
	}
	return nil
}

func (o *op) removeEntry(directory *leaf, name, path string) error {
	pl := child(directory.Handle, name)
	defer pl.close()
	l, err := pl.open(o, openRemoval)
	if missing(err) {
		return nil
	}
	if err != nil {
		return fail(err, "opening %s to remove it", path)
	}
	return o.removeTree(l, path, true)
}
