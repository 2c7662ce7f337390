// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// WorkingDirs returns the working directories.
func (f *Filesystem) WorkingDirs() (dirs []string) {
	for _, dir := range f.node.policy.Dirs() {
		dirs = append(dirs, dir.String())
	}
	return dirs
}

// UnusableDirectories returns the working directories that cannot be opened, and the directories of kubelet in them
// that are links that the path policy refuses: no call on a path below one can succeed.
func (f *Filesystem) UnusableDirectories(ctx context.Context) ([]*api.WorkingDirectory, error) {
	return read(ctx, f.node, operation.On("LookAtDirectories"), func(o *op) (all []*api.WorkingDirectory, _ error) {
		for _, dir := range o.node.policy.Dirs() {
			if _, err := o.fs.Stat(dir); err != nil {
				all = append(all, unusable(dir, errdefs.Errorf(err, "opening %s", dir), ""))
				continue
			}
			for _, name := range []string{"pods", "plugins"} {
				at, err := dir.Join(name)
				if err != nil { // a path that has become too long
					all = append(all, unusable(dir, err, ""))
					break
				}
				if refused := o.refusedDirectory(at); refused != nil {
					all = append(all, refused)
				}
			}
		}
		return all, nil
	})
}

func unusable(at winpath.Path, err error, target string) *api.WorkingDirectory {
	return &api.WorkingDirectory{Path: at.String(), Error: err.Error(), LinkTarget: target}
}

// refusedDirectory describes a link to a path that the policy refuses; nil: it is none.
func (o *op) refusedDirectory(at winpath.Path) *api.WorkingDirectory {
	s, err := o.fs.Stat(at)
	if err != nil || s.Reparse == nil {
		return nil // as it should be, or not there yet
	}
	target, err := winfs.TargetOf(s.Reparse)
	if err != nil || target.Kind != winpath.TargetLocal {
		return nil // if its volume is gone, the search for mount points finds it
	}
	if _, _, err := o.fs.ResolveFrom(s, at); errdefs.HasReason(err, reason.LinkRefused) {
		return unusable(at, err, target.Path.String())
	}
	return nil
}
