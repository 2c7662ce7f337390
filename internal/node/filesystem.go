// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// Filesystem is the filesystem group: directories and links in the working directories.
type Filesystem struct{ node *Node }

// PathExists reports whether anything is at a path; a link or mount point counts, wherever it leads.
func (f *Filesystem) PathExists(ctx context.Context, path string) (bool, error) {
	parsed, err := f.node.parsePath(path, winpath.Options{})
	if err != nil {
		return false, err
	}
	return read(ctx, f.node, operation.On("PathExists", operation.Path(parsed)), func(o *op) (bool, error) {
		links := maxLinks
		pl, _, err := o.lookUp(parsed, &links)
		if errdefs.IsMissing(err) {
			return false, nil
		}
		if err != nil {
			return false, errdefs.Wrapf(err, "looking at %s", parsed)
		}
		pl.close()
		return true, nil
	})
}

// IsSymlink reports whether a path is a link or mount point whose target exists. It is false for a plain directory or
// file, and for a link that leads nowhere or out of the working directories; a missing path is an error.
func (f *Filesystem) IsSymlink(ctx context.Context, path string) (bool, error) {
	parsed, err := f.node.parsePath(path, winpath.Options{ForwardSlash: true})
	if err != nil {
		return false, err
	}
	return read(ctx, f.node, operation.On("IsSymlink", operation.Path(parsed)), func(o *op) (bool, error) {
		links := maxLinks
		s, err := o.stat(parsed, &links)
		if errdefs.IsMissing(err) {
			return false, pathNotFound(parsed, err)
		}
		if err != nil {
			return false, errdefs.Wrapf(err, "looking at %s", parsed)
		}
		return s.reparse != nil && o.targetExists(s, parsed), nil
	})
}

// targetExists reports whether the target of a link or mount point exists. It is false where the policy forbids looking
// and where looking fails: no caller should rely on such a target.
func (o *op) targetExists(s stat, at winpath.Path) bool {
	for links := maxLinks; s.reparse != nil; {
		if id, ok := s.mountedVolume(); ok {
			system, err := o.systemVolume()
			return err == nil && system != id && o.volumePresent(id)
		}
		if share, ok := s.share(); ok {
			return o.shareAnswers(share, at)
		}
		var err error
		if at, err = o.linkTarget(s, at, &links); err != nil {
			return false
		}
		if s, err = o.stat(at, &links); err != nil {
			return false
		}
	}
	return true
}

// volumePresent reports whether a volume is present, formatted or not.
func (o *op) volumePresent(id winpath.VolumeID) bool {
	restore, err := o.TrackObject(operation.Volume(id))
	if err != nil {
		return true // a volume that does not answer is present
	}
	defer restore()
	h, err := o.Kernel.OpenDevice(id.Device(), 0)
	if err != nil {
		return false
	}
	_ = h.Close()
	return true
}

// Mkdir makes a directory and its parents. An existing directory is success.
func (f *Filesystem) Mkdir(ctx context.Context, path string) error {
	parsed, err := f.node.parsePath(path, winpath.Options{})
	if err != nil {
		return err
	}
	return f.node.change(ctx, operation.On("Mkdir", operation.Path(parsed)), func(o *op) error { return o.mkdir(parsed) })
}

func (o *op) mkdir(path winpath.Path) error {
	pl, err := o.locate(path, walk{create: true})
	if err != nil {
		return err
	}
	defer pl.close()
	l, err := pl.makeDirectory(o)
	if err != nil {
		return err
	}
	found := l.stat
	pl.close() // a visit to a share ends before the next one begins
	if found.reparse != nil && !o.targetExists(found, path) {
		return errdefs.FailedPrecondition.Errorf(reason.LinkRefused,
			"%s is a link that does not lead to a directory here; remove it with Rmdir", path)
	}
	return nil
}

func pathNotFound(path winpath.Path, err error) error {
	return errdefs.NotFound.Wrapf(err, reason.PathNotFound, "%s is not there", path)
}
