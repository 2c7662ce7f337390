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

// UnusableDirectory is a working directory, or kubelet's pods or plugins in one, that calls cannot use as it is.
type UnusableDirectory struct {
	Path   string
	Err    error
	Target string // of a link that is not followed
}

// WorkingDirs returns the working directories.
func (f *Filesystem) WorkingDirs() (dirs []string) {
	for _, dir := range f.node.policy.Dirs() {
		dirs = append(dirs, dir.String())
	}
	return dirs
}

// UnusableDirectories returns the working directories that cannot be opened, and the directories of kubelet in them
// that are links that the path policy refuses: no call on a path below one can succeed.
func (f *Filesystem) UnusableDirectories(ctx context.Context) ([]UnusableDirectory, error) {
	return read(ctx, f.node, operation.On("LookAtDirectories"), func(o *op) (all []UnusableDirectory, _ error) {
		for _, dir := range o.node.policy.Dirs() {
			if _, err := o.fs.Stat(dir); err != nil {
				all = append(all, UnusableDirectory{Path: dir.String(), Err: errdefs.Errorf(err, "opening %s", dir)})
				continue
			}
			for _, name := range []string{"pods", "plugins"} {
				at, err := dir.Join(name)
				if err != nil { // a path that has become too long
					all = append(all, UnusableDirectory{Path: dir.String(), Err: err})
					break
				}
				all = append(all, o.refusedDirectory(at)...)
			}
		}
		return all, nil
	})
}

// refusedDirectory describes a link to a path that the policy refuses.
func (o *op) refusedDirectory(at winpath.Path) []UnusableDirectory {
	s, err := o.fs.Stat(at)
	if err != nil || s.Reparse == nil {
		return nil // not there yet, or as it should be
	}
	target, err := winfs.TargetOf(s.Reparse)
	if err != nil || target.Kind != winpath.TargetLocal {
		return nil // if its volume is gone, the search for mount points finds it
	}
	if _, _, err := o.fs.ResolveFrom(s, at); errdefs.HasReason(err, reason.LinkRefused) {
		return []UnusableDirectory{{Path: at.String(), Err: err, Target: target.Path.String()}}
	}
	return nil
}
