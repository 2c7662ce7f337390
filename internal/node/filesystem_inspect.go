// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// The agent's own inspection, to find other users of a volume or share. Callers do not name these paths.

// Contents returns the names of a directory's entries.
func (f *Filesystem) Contents(ctx context.Context, path string) ([]string, error) {
	return readOf(ctx, f.node, "Contents", path, f.node.path, operation.Path, (*op).contents)
}

func (o *op) contents(path winpath.Path) (names []string, err error) {
	loc, err := o.Locate(path, winfs.Walk{})
	if errdefs.IsMissing(err) {
		return nil, pathNotFound(path, err)
	}
	if err != nil {
		return nil, err
	}
	defer loc.Close()
	l, err := loc.Open(winfs.OpenContents)
	switch {
	case errdefs.IsMissing(err):
		return nil, pathNotFound(path, err)
	case err != nil:
		return nil, errdefs.Errorf(err, "listing %s", path)
	case !l.IsPlainDirectory():
		return nil, errdefs.FailedPrecondition.Errorf(reason.NotADirectory, "%s is not a directory", path)
	}
	_, err = l.Has(func(entry win32.DirectoryEntry) (bool, error) {
		names = append(names, entry.Name)
		return false, nil
	})
	if err != nil {
		return nil, errdefs.Errorf(err, "listing %s", path)
	}
	return names, nil
}

// ShareOf returns the remote path to which a link leads, and "" for everything else at the path. No server is asked.
func (f *Filesystem) ShareOf(ctx context.Context, path string) (string, error) {
	return readOf(ctx, f.node, "ShareOf", path, f.node.path, operation.Path,
		func(o *op, path winpath.Path) (string, error) {
			s, err := o.statOf(path)
			if target, is := s.Share(); is {
				return winpath.UNC{Server: target.Server, Share: target.Share, Rest: target.Rest}.String(), nil
			}
			return "", err
		})
}

// MountPoints returns the directories and drives at which a volume is mounted, including those that other programs
// made.
func (v *Volumes) MountPoints(ctx context.Context, volumeID string) ([]string, error) {
	return readOf(ctx, v.node, "MountPoints", volumeID, parseVolumeID, operation.Volume, (*op).mountPoints)
}

func (o *op) mountPoints(id winpath.VolumeID) ([]string, error) {
	paths, err := o.Kernel.VolumePathNames(id.String())
	if errdefs.IsMissing(err) {
		return nil, nil // the volume has gone
	}
	if err != nil {
		return nil, errdefs.Errorf(err, "looking for the mount points of volume %s", id)
	}
	return slices.DeleteFunc(paths, o.isStale), nil
}

// Kubelet returns kubelet's directory on the node, the first of the working directories; "" if there is none.
func (n *Node) Kubelet() string {
	if n.policy == nil { // a Node that only lists methods
		return ""
	}
	return n.policy.Dirs()[0].String()
}
