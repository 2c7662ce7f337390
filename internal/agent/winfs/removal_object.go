// SPDX-License-Identifier: Apache-2.0

package winfs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// mounted is a mount point that the mount manager must be told of before it goes.
type mounted struct {
	volume winpath.VolumeID
	known  bool // the mount manager lists it
}

// removeObject deletes the object at a location: a file, an empty directory, a link, or a mount point, once unmounted.
//
// The object is opened anew for each step, because a handle that may delete a directory does not pin it, and
// DeleteVolumeMountPointW may take such a handle for a sharing violation.
func (r *removal) removeObject(loc *Location, path fmt.Stringer, isFile error) (found bool, err error) {
	for round := 0; ; round++ {
		at, found, err := r.removeOnce(loc, path, isFile)
		switch {
		case !found && round > 0:
			return true, nil // another program was faster
		case at == nil:
			return found, err
		case round > 1 && !r.fs.run.WaitShared():
			return true, beingFilled(path, nil)
		}
		if err := r.unmount(loc, *at, path); err != nil {
			return true, err
		}
	}
}

// removeOnce deletes the object at a location, unless a volume is mounted there.
func (r *removal) removeOnce(loc *Location, path fmt.Stringer, isFile error) (at *mounted, found bool, err error) {
	l, err := loc.Open(openRemoval)
	if errdefs.HasCode(err, win32.ERROR_ACCESS_DENIED) {
		l, err = loc.openToDelete()
	}
	if errdefs.IsMissing(err) {
		return nil, false, err
	}
	if err != nil {
		return nil, true, errdefs.Errorf(err, "opening %s to remove it", path)
	}
	defer loc.Release(l.Handle)
	if at := r.mountedAt(l); at != nil {
		return at, true, nil
	}
	if l.IsFile() && isFile != nil {
		return nil, true, isFile
	}
	if err := r.fs.run.RetryShared(l.remove); err != nil && !errdefs.IsMissing(err) {
		return nil, true, errdefs.Errorf(err, "removing %s", path)
	}
	return nil, true, nil
}

// mountedAt returns the mount of a mount point that must be unmounted before it is removed. It returns nil for one that
// is removed like a link: the mount manager does not know it, as workloads can make such ones of any volume; or its
// path can change, and the mount manager takes only paths.
func (r *removal) mountedAt(l *File) *mounted {
	id, ok := l.MountedVolume()
	if !ok || !r.pinned() {
		return nil
	}
	text, err := MountPointText(l)
	if err != nil {
		return nil // on a share
	}
	names, err := r.fs.kernel.VolumePathNames(id.String())
	if err != nil { // the volume is gone, or does not answer: the mount manager may know it still
		return &mounted{volume: id}
	}
	same := func(name string) bool { return winpath.Fold(name) == winpath.Fold(strings.TrimPrefix(text, `\\?\`)) }
	if !slices.ContainsFunc(names, same) {
		return nil
	}
	return &mounted{volume: id, known: true}
}

// unmount turns the mount point at a location back into a plain directory. The volume is flushed once for all its mount
// points in the tree. A mount point of another volume, swapped in meanwhile, stays.
func (r *removal) unmount(loc *Location, at mounted, path fmt.Stringer) error {
	if at.known && !r.flushed[at.volume] {
		if err := r.fs.FlushBeforeUnmount(at.volume); err != nil {
			klog.FromContext(r.fs.run.Context).Info("A volume was not flushed before the removal of its mount point", "volume",
				at.volume, "path", path, "err", err)
		}
		r.flushed[at.volume] = true
	}
	l, err := r.openMountPoint(loc)
	if errdefs.IsMissing(err) {
		return nil
	}
	if err != nil {
		return errdefs.Errorf(err, "opening the mount point %s", path)
	}
	defer loc.Release(l.Handle)
	if now, ok := l.MountedVolume(); !ok || now != at.volume {
		return nil
	}
	// The path of the first look may lead elsewhere by now.
	text, err := r.fs.RetryBusy(l, r.fs.kernel.DeleteVolumeMountPoint)
	if errors.Is(err, ErrReplaced) {
		return nil
	}
	return r.fs.RemovedMountPoint(l, text, path.String(), err)
}

// openMountPoint opens a mount point at a pinned location, which pins it while it is removed by its path.
func (r *removal) openMountPoint(loc *Location) (*File, error) {
	how := loc.openAsIs(kernel.OpenOptions{Access: win32.FILE_WRITE_ATTRIBUTES})
	return loc.openAndLook(how, func(h kernel.Handle) (*File, error) {
		point, err := ReadReparsePoint(h)
		return &File{Handle: h, Stat: Stat{Attributes: win32.FILE_ATTRIBUTE_DIRECTORY, Reparse: point}}, err
	})
}
