// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// The agent's own inspection, to find other users of a volume or share. Callers do not name these paths.

// Contents returns the names of a directory's entries.
func (f *Filesystem) Contents(ctx context.Context, path string) ([]string, error) {
	parsed, err := f.node.policy.ParsePath(path, winpath.Options{})
	if err != nil {
		return nil, err
	}
	return read(ctx, f.node, operation.On("Contents", operation.Path(parsed)), func(o *op) ([]string, error) {
		loc, err := o.Locate(parsed, winfs.Walk{})
		if errdefs.IsMissing(err) {
			return nil, pathNotFound(parsed, err)
		}
		if err != nil {
			return nil, err
		}
		defer loc.Close()
		l, err := loc.Open(winfs.OpenContents)
		switch {
		case errdefs.IsMissing(err):
			return nil, pathNotFound(parsed, err)
		case err != nil:
			return nil, errdefs.Errorf(err, "listing %s", parsed)
		case !l.IsPlainDirectory():
			return nil, errdefs.FailedPrecondition.Errorf(reason.NotADirectory, "%s is not a directory", parsed)
		}
		var names []string
		for s := (winfs.Entries{Directory: l}); ; {
			entry, err := s.Next()
			if err != nil {
				return nil, errdefs.Errorf(err, "listing %s", parsed)
			}
			if entry == nil {
				return names, nil
			}
			names = append(names, entry.Name)
		}
	})
}

// ShareOf returns the remote path to which a link leads, and "" for everything else at the path. No server is asked.
func (f *Filesystem) ShareOf(ctx context.Context, path string) (string, error) {
	parsed, err := f.node.policy.ParsePath(path, winpath.Options{})
	if err != nil {
		return "", err
	}
	return read(ctx, f.node, operation.On("ShareOf", operation.Path(parsed)), func(o *op) (string, error) {
		links := winfs.MaxLinks
		s, err := o.Stat(parsed, &links)
		if errdefs.IsMissing(err) {
			return "", pathNotFound(parsed, err)
		}
		if err != nil {
			return "", errdefs.Errorf(err, "looking at %s", parsed)
		}
		target, is := s.Share()
		if !is {
			return "", nil
		}
		return winpath.UNC{Server: target.Server, Share: target.Share, Rest: target.Rest}.String(), nil
	})
}

// MountPoints returns the directories and drives at which a volume is mounted, including those that other programs
// made.
func (v *Volumes) MountPoints(ctx context.Context, volumeID string) ([]string, error) {
	id, err := parseVolumeID(volumeID)
	if err != nil {
		return nil, err
	}
	return read(ctx, v.node, operation.On("MountPoints", operation.Volume(id)), func(o *op) ([]string, error) {
		paths, err := o.Kernel.VolumePathNames(id.String())
		if errdefs.IsMissing(err) {
			return nil, nil // the volume has gone
		}
		if err != nil {
			return nil, errdefs.Errorf(err, "looking for the mount points of volume %s", id)
		}
		return slices.DeleteFunc(paths, o.isStale), nil
	})
}

// Kubelet returns kubelet's directory on the node, the first of the working directories; "" if there is none.
func (n *Node) Kubelet() string {
	if n.policy == nil { // a Node that only lists methods
		return ""
	}
	return n.policy.Dirs()[0].String()
}
