// SPDX-License-Identifier: Apache-2.0

package node

import (
	"slices"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// contents returns the names of a directory's entries.
func (o *op) contents(path winpath.Path) (names []string, err error) {
	loc, l, err := o.fs.OpenAt(path, winfs.Walk{}, winfs.OpenContents)
	if errdefs.IsMissing(err) {
		return nil, pathNotFound(path, err)
	}
	if err != nil {
		return nil, errdefs.Errorf(err, "listing %s", path)
	}
	defer loc.Close()
	if !l.IsPlainDirectory() {
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

// mountPoints returns the directories and drives at which a volume is mounted, including those that other programs
// made.
func (o *op) mountPoints(id winpath.VolumeID) ([]string, error) {
	paths, err := o.kernel.VolumePathNames(id.String())
	if errdefs.IsMissing(err) {
		return nil, nil // the volume has gone
	}
	if err != nil {
		return nil, errdefs.Errorf(err, "looking for the mount points of volume %s", id)
	}
	return slices.DeleteFunc(paths, o.isStale), nil
}
