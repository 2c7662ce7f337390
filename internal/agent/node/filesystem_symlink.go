// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// CreateSymlink makes a directory link at targetPath that leads to sourcePath, the reverse of Win32's names. The source
// may be missing, but must not be a file. If the same link exists, that is success; anything else there is
// AlreadyExists. The link's parent directory must exist.
func (f *Filesystem) CreateSymlink(ctx context.Context, sourcePath, targetPath string) error {
	source, err := f.node.path(sourcePath)
	if err != nil {
		return err
	}
	link, err := f.node.path(targetPath)
	if err != nil {
		return err
	}
	if err := f.node.policy.NotWorkingDir(source, "linked to"); err != nil {
		return err
	}
	if err := f.node.policy.NotWorkingDir(link, "made a link"); err != nil {
		return err
	}
	what := operation.On("CreateSymlink", operation.Path(link))
	what.Arguments = "to " + source.String()
	return f.node.change(ctx, what, func(o *op) error { return o.createSymlink(source, link) })
}

func (o *op) createSymlink(source, link winpath.Path) error {
	if err := o.linkable(source); err != nil {
		return err
	}
	return o.fs.MakeLink(winfs.DirectoryLink{
		At: link, Substitute: `\??\` + source.String(), Print: source.String(),
		Same: func(t winpath.Target) bool { return t.Kind == winpath.TargetLocal && t.Path.Equal(source) },
	})
}

// linkable refuses a file as the source of a directory link. The source may be missing.
func (o *op) linkable(source winpath.Path) error {
	loc, err := o.fs.Locate(source, winfs.Walk{})
	if errdefs.IsMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer loc.Close()
	l, err := loc.Open(0)
	if errdefs.IsMissing(err) {
		return nil
	}
	if err != nil {
		return errdefs.Errorf(err, "looking at the link's source %s", source)
	}
	if l.IsFile() {
		return errdefs.FailedPrecondition.Errorf(reason.NotADirectory,
			"%s is a file; links can lead only to directories", source)
	}
	return nil
}
