// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"slices"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// targetPath parses the path argument of the volume group, which accepts / for \.
func (n *Node) targetPath(text string) (winpath.Path, error) {
	if text == "" {
		return winpath.Path{}, errdefs.InvalidArgument.Errorf(reason.InvalidPath, "target path is empty")
	}
	return n.parsePath(text, winpath.Options{ForwardSlash: true})
}

// MountVolume mounts a volume at a directory. It makes a missing directory and its parents; an existing one must be
// empty. If the same volume is mounted there, that is success; another volume or a link there is refused.
func (v *Volumes) MountVolume(ctx context.Context, volumeID, targetPath string) error {
	return v.atTarget(ctx, "MountVolume", volumeID, targetPath, (*op).mountVolume)
}

// UnmountVolume flushes a volume and unmounts it from a directory, which stays as an empty directory. It is success if
// nothing is mounted there or the directory is missing; another volume there is refused. A volume whose disk has gone
// is unmounted as well.
func (v *Volumes) UnmountVolume(ctx context.Context, volumeID, targetPath string) error {
	return v.atTarget(ctx, "UnmountVolume", volumeID, targetPath, (*op).unmountVolume)
}

func (v *Volumes) atTarget(ctx context.Context, verb, volumeID, targetPath string,
	f func(o *op, id winpath.VolumeID, path winpath.Path) error) error {
	id, err := parseVolumeID(volumeID)
	if err != nil {
		return err
	}
	path, err := v.node.targetPath(targetPath)
	if err != nil {
		return err
	}
	return v.node.change(ctx, operation.On(verb, operation.Path(path), operation.Volume(id)),
		func(o *op) error { return f(o, id, path) })
}

func (o *op) mountVolume(id winpath.VolumeID, path winpath.Path) error {
	if err := o.node.notWorkingDir(path, "mounted over"); err != nil {
		return err
	}
	extents, err := o.lockDisks(id) // before making a directory for a volume that is not there
	if err != nil {
		return err
	}
	if err := o.sparesExtents(id, extents, "mounted elsewhere"); err != nil {
		return err
	}
	pl, err := o.locate(path, walk{create: true, pin: true})
	if err != nil {
		return err
	}
	defer pl.close()
	if pl.inShare {
		return errdefs.FailedPrecondition.Errorf(reason.OnShare,
			"%s lies on a network share; volumes are mounted only at local directories", path)
	}
	directory, err := pl.makeDirectory(o)
	if err != nil {
		return err
	}
	if directory.reparse != nil {
		return o.alreadyMounted(directory, id, path)
	}
	return o.setMountPoint(pl, directory, id)
}

// lockDisks locks the disks of a volume and returns its extents. Without that, a disk could be taken offline, and its
// caller told so, while a mount of its volume runs, and a caller that joins the mount later would be told of a volume
// that is gone.
func (o *op) lockDisks(id winpath.VolumeID) (extents, error) {
	before, err := o.volumeExtents(id)
	if err != nil {
		return nil, err
	}
	var objects []operation.Object
	for _, number := range before.disks() {
		objects = append(objects, operation.Disk(number))
	}
	if err := o.Lock(objects...); err != nil {
		return nil, err
	}
	// Disk numbers are reused when disks go.
	after, err := o.volumeExtents(id)
	if err == nil && !slices.Equal(before.disks(), after.disks()) {
		err = errdefs.Unavailable.Errorf(reason.DiskChanged, "volume %s moved from disks %d to disks %d; try again", id,
			before.disks(), after.disks())
	}
	return after, err
}

// alreadyMounted decides about a directory that was a mount point or link before this call.
func (o *op) alreadyMounted(directory *leaf, id winpath.VolumeID, path winpath.Path) error {
	there, ok := directory.mountedVolume()
	if !ok {
		return errdefs.FailedPrecondition.Errorf(reason.LinkRefused,
			"%s is a link, not an empty directory; remove it before mounting", path)
	}
	if !o.sameVolume(there, id) {
		return errdefs.FailedPrecondition.Errorf(reason.OtherVolumeMounted,
			"volume %s cannot be mounted at %s: volume %s is mounted there", id, path, there)
	}
	return nil
}

// sameVolume reports whether two volume names mean the same volume: the mount manager may know it under several names.
func (o *op) sameVolume(a, b winpath.VolumeID) bool {
	if a == b {
		return true
	}
	extentsA, errA := o.volumeExtents(a)
	extentsB, errB := o.volumeExtents(b)
	if errA != nil || errB != nil { // a volume that is gone has no other name
		return false
	}
	return len(extentsA) == 1 && len(extentsB) == 1 && extentsA[0] == extentsB[0]
}

func (o *op) unmountVolume(id winpath.VolumeID, path winpath.Path) error {
	pl, err := o.locate(path, walk{pin: true})
	if errdefs.IsMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer pl.close()
	l, err := pl.open(o, win32.FILE_WRITE_ATTRIBUTES)
	if errdefs.IsMissing(err) {
		return nil
	}
	if err != nil {
		return errdefs.Wrapf(err, "opening %s", path)
	}
	if l.reparse == nil {
		return nil
	}
	there, ok := l.mountedVolume()
	if !ok {
		return errdefs.FailedPrecondition.Errorf(reason.LinkRefused,
			"%s is a link, not a mounted volume; remove it with Rmdir", path)
	}
	if !o.sameVolume(there, id) {
		return otherVolumeMounted(id, path, there)
	}
	if err := o.flushBeforeUnmount(there); err != nil {
		return err
	}
	// The flush may have taken long, and an administrator may have mounted something meanwhile.
	if l.reparse, err = reparsePoint(l.Handle); err != nil {
		return errdefs.Wrapf(err, "looking at %s again", path)
	}
	now, ok := l.mountedVolume()
	switch {
	case l.reparse == nil:
		return nil
	case !ok:
		return errdefs.FailedPrecondition.Errorf(reason.LinkRefused,
			"%s has become a link, not a mounted volume; remove it with Rmdir", path)
	case now != there:
		return otherVolumeMounted(id, path, now)
	}
	text, err := mountPointText(l)
	if err == nil {
		err = o.Kernel.DeleteVolumeMountPoint(text)
	}
	return o.removedMountPoint(l, text, path.String(), err)
}

func otherVolumeMounted(id winpath.VolumeID, path winpath.Path, there winpath.VolumeID) error {
	return errdefs.FailedPrecondition.Errorf(reason.OtherVolumeMounted,
		"volume %s cannot be unmounted from %s: volume %s is mounted there", id, path, there)
}

// flushBeforeUnmount makes an unmount fail if data could be lost, but not if the device has gone: a mount point that
// can never be removed would block the pod for ever.
func (o *op) flushBeforeUnmount(id winpath.VolumeID) error {
	err := o.flushVolume(id)
	if err == nil {
		return nil
	}
	// The code of the failed flush does not distinguish a device that has gone from a passing error; a second query does.
	_, queryErr := o.Kernel.VolumeInformation(id.String())
	if errdefs.HasCode(queryErr, win32.ERROR_UNRECOGNIZED_VOLUME) {
		if errdefs.HasCode(err, win32.ERROR_INVALID_FUNCTION, win32.ERROR_NOT_SUPPORTED) {
			// There is no file system that caches, and the device has no cache.
			klog.FromContext(o.Context).V(2).Info("A raw volume is unmounted without a flush", "volume", id, "err", err)
			return nil
		}
		return err
	}
	if queryErr != nil {
		klog.FromContext(o.Context).Info("A volume that is gone is unmounted without a flush", "volume", id, "err",
			err, "query", queryErr)
		return nil
	}
	return err
}
