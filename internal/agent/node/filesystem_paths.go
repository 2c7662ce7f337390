// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	api "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// PathExists reports whether anything is at a path; a link or mount point counts, wherever it leads.
func (f *Filesystem) PathExists(ctx context.Context, r *api.PathExistsRequest) (*api.PathExistsResponse, error) {
	return runOf(ctx, f.node, "PathExists", r.GetPath(), f.node.path, operation.Path,
		func(o *op, path winpath.Path) (*api.PathExistsResponse, error) {
			exists, err := o.fs.Exists(path)
			return &api.PathExistsResponse{Exists: exists}, errdefs.Errorf(err, "looking at %s", path)
		})
}

// IsSymlink reports whether something is mounted at a path, as the proto says. A link that leads out of the working
// directories leads nowhere.
func (f *Filesystem) IsSymlink(ctx context.Context, r *api.IsSymlinkRequest) (*api.IsSymlinkResponse, error) {
	return runOf(ctx, f.node, "IsSymlink", r.GetPath(), f.node.slashedPath, operation.Path,
		func(o *op, path winpath.Path) (*api.IsSymlinkResponse, error) {
			s, err := o.statOf(path)
			is := err == nil && s.Reparse != nil && o.targetExists(s, path)
			return &api.IsSymlinkResponse{IsSymlink: is}, err
		})
}

// statOf examines what is at a path.
func (o *op) statOf(path winpath.Path) (winfs.Stat, error) {
	s, err := o.fs.Stat(path)
	if errdefs.IsMissing(err) {
		return s, pathNotFound(path, err)
	}
	return s, errdefs.Errorf(err, "looking at %s", path)
}

// targetExists reports whether the target of a link or mount point exists. It is false where the policy forbids looking
// and where looking fails: no caller should rely on such a target.
func (o *op) targetExists(s winfs.Stat, at winpath.Path) bool {
	exists, err := o.lookAtTarget(s, at)
	return exists && err == nil
}

// lookAtTarget reports whether the target of a link or mount point exists, or why it could not be looked at.
func (o *op) lookAtTarget(s winfs.Stat, at winpath.Path) (exists bool, err error) {
	at, s, err = o.fs.ResolveFrom(s, at)
	if err != nil {
		return false, err
	}
	if id, ok := s.MountedVolume(); ok {
		system, err := o.fs.SystemVolume()
		return err == nil && system != id && o.fs.VolumePresent(id), err
	}
	if share, ok := s.Share(); ok {
		err = o.askShare(share, at)
	}
	return err == nil, err
}

// Mkdir makes a directory and its parents. An existing directory is success.
func (f *Filesystem) Mkdir(ctx context.Context, r *api.MkdirRequest) (*api.MkdirResponse, error) {
	return runOf(ctx, f.node, "Mkdir", r.GetPath(), f.node.path, operation.Path,
		func(o *op, path winpath.Path) (*api.MkdirResponse, error) { return &api.MkdirResponse{}, o.mkdir(path) })
}

func (o *op) mkdir(path winpath.Path) error {
	loc, err := o.fs.Locate(path, winfs.Walk{Create: true})
	if err != nil {
		return err
	}
	defer loc.Close()
	l, err := loc.MakeDirectory()
	if err != nil {
		return err
	}
	found := l.Stat
	loc.Close() // a visit to a share ends before the next one begins
	if found.Reparse != nil && !o.targetExists(found, path) {
		return errdefs.FailedPrecondition.Errorf(reason.LinkRefused,
			"%s is a link that does not lead to a directory here; remove it with Rmdir", path)
	}
	return nil
}

func pathNotFound(path winpath.Path, err error) error {
	return errdefs.NotFound.WrapErrorf(err, reason.PathNotFound, "%s is not there", path)
}

// askShare looks whether the target of a link to a share exists. It asks once for all, for at most answerTime.
func (o *op) askShare(share winpath.UNC, at winpath.Path) error {
	ctx, cancel := context.WithTimeout(o.run.Context, answerTime)
	defer cancel()
	return o.node.change(ctx, operation.On("AskShare", operation.ShareContact(share)),
		func(o *op) error { return o.fs.OpenShare(share, at, winfs.Walk{}) })
}

// CreateSymlink makes a directory link at target_path to source_path, the reverse of Win32's names, as the proto says.
func (f *Filesystem) CreateSymlink(ctx context.Context,
	r *api.CreateSymlinkRequest) (*api.CreateSymlinkResponse, error) {
	source, link, err := f.node.linkPaths(f.node.path, r.GetSourcePath(), r.GetTargetPath())
	if err != nil {
		return nil, err
	}
	what := operation.On("CreateSymlink", operation.Path(link))
	what.Arguments = "to " + source.String()
	return &api.CreateSymlinkResponse{},
		f.node.do(ctx, what, func(o *op) error { return o.createSymlink(source, link) })
}

func (o *op) createSymlink(source, link winpath.Path) error {
	s, err := o.fs.Stat(source)
	switch {
	case errdefs.IsMissing(err): // it may come later
	case err != nil:
		return errdefs.Errorf(err, "looking at the link's source %s", source)
	case s.IsFile():
		return errdefs.FailedPrecondition.Errorf(reason.NotADirectory,
			"%s is a file; links can lead only to directories", source)
	}
	return o.fs.MakeLink(winfs.DirectoryLink{
		At: link, Substitute: `\??\` + source.String(), Print: source.String(),
		Same: func(t winpath.Target) bool { return t.Kind == winpath.TargetLocal && t.Path.Equal(source) },
	})
}
