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
		add := func(at winpath.Path, err error, target string) {
			all = append(all, &api.WorkingDirectory{Path: at.String(), Error: err.Error(), LinkTarget: target})
		}
		for _, dir := range o.node.policy.Dirs() {
			if _, err := o.fs.Stat(dir); err != nil {
				add(dir, errdefs.Errorf(err, "opening %s", dir), "")
				continue
			}
			for _, name := range []string{"pods", "plugins"} {
				at, err := dir.Join(name)
				if err != nil { // a path that has become too long
					add(dir, err, "")
					break
				}
				if target, err := o.refusedDirectory(at); err != nil {
					add(at, err, target)
				}
			}
		}
		return all, nil
	})
}

// refusedDirectory returns the target of a link to a path that the policy refuses, and its refusal.
func (o *op) refusedDirectory(at winpath.Path) (to string, refusal error) {
	s, err := o.fs.Stat(at)
	if err != nil || s.Reparse == nil {
		return "", nil // not there yet, or as it should be
	}
	target, err := winfs.TargetOf(s.Reparse)
	if err != nil || target.Kind != winpath.TargetLocal {
		return "", nil // if its volume is gone, the search for mount points finds it
	}
	if _, _, err := o.fs.ResolveFrom(s, at); errdefs.HasReason(err, reason.LinkRefused) {
		return target.Path.String(), err
	}
	return "", nil
}
