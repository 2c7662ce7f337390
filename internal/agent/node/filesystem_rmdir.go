// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"

	api "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// Rmdir removes a directory, a link or a mount point, as the proto says: drivers unmount with it. An object that cannot
// be removed does not keep the rest; the error is that of the first one. A removal that takes longer than its caller
// waits goes on. On a file system that deletes at the last close, the name is free when other programs have closed the
// directory. Of identical calls that overlap, each gets the answer of one removal.
func (f *Filesystem) Rmdir(ctx context.Context, r *api.RmdirRequest) (*api.RmdirResponse, error) {
	path, err := f.node.mayTake(f.node.path, r.GetPath(), "removed")
	if err != nil {
		return nil, err
	}
	what := operation.On("Rmdir", operation.Path(path))
	what.Arguments = fmt.Sprintf("force=%t", r.GetForce())
	return &api.RmdirResponse{}, f.node.do(ctx, what, func(o *op) error { return o.rmdir(path, r.GetForce()) })
}

// fileNotFound is Windows' sentence, as the original answers. A driver that removes without force takes it for success.
const fileNotFound = "The system cannot find the file specified"

func (o *op) rmdir(path winpath.Path, force bool) error {
	gone := func(err error) error {
		if force {
			return nil
		}
		return errdefs.NotFound.WrapErrorf(err, reason.PathNotFound, "%s is not there (%s)", path, fileNotFound)
	}
	loc, err := o.fs.Locate(path, winfs.Walk{Pin: true})
	if errdefs.IsMissing(err) {
		return gone(err)
	}
	if err != nil {
		return err
	}
	defer loc.Close()
	found, err := o.fs.RemoveTree(loc, path, force,
		errdefs.FailedPrecondition.Errorf(reason.NotADirectory,
			"%s is a file; Rmdir removes directories, links and mount points",
			path))
	if !found {
		return gone(err)
	}
	if errdefs.HasCode(err, win32.ERROR_DIR_NOT_EMPTY) && !force {
		return errdefs.FailedPrecondition.WrapErrorf(err, reason.DirectoryNotEmpty, "%s is not empty", path)
	}
	return err
}

// RmdirContents removes what Rmdir would in a directory, and keeps the directory, as the proto says.
func (f *Filesystem) RmdirContents(ctx context.Context,
	r *api.RmdirContentsRequest) (*api.RmdirContentsResponse, error) {
	path, err := f.node.mayTake(f.node.path, r.GetPath(), "emptied")
	if err != nil {
		return nil, err
	}
	return &api.RmdirContentsResponse{}, f.node.do(ctx, operation.On("RmdirContents", operation.Path(path)),
		func(o *op) error { return o.rmdirContents(path) })
}

func (o *op) rmdirContents(path winpath.Path) error {
	loc, l, err := o.fs.OpenAt(path, winfs.Walk{Pin: true}, winfs.OpenContents)
	if errdefs.IsMissing(err) {
		return pathNotFound(path, err)
	}
	if err != nil {
		return errdefs.Errorf(err, "opening %s to empty it", path)
	}
	defer loc.Close()
	switch {
	case l.Reparse != nil:
		return errdefs.FailedPrecondition.Errorf(reason.LinkRefused,
			"%s is a link or mount point; its target is not emptied: name a directory in it, or empty a volume with "+
				"FormatVolume, on nodes whose agent runs with -erase-on-format", path)
	case !l.IsDirectory():
		return errdefs.FailedPrecondition.Errorf(reason.NotADirectory, "%s is a file, not a directory", path)
	}
	return o.fs.RemoveContents(l, path)
}
