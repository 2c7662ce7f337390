// SPDX-License-Identifier: Apache-2.0

package node

import (
	"strings"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// mountPointText returns the path of an open directory for calls that take it as text. The place is pinned, so the text
// keeps its meaning while the call runs.
func mountPointText(directory *leaf) (string, error) {
	text, err := directory.FinalPath(win32.VOLUME_NAME_DOS)
	if errdefs.IsMissing(err) { // the directory is on a volume without a drive letter or mount point
		text, err = directory.FinalPath(win32.VOLUME_NAME_GUID)
	}
	return text + `\`, err
}

// setMountPoint mounts a volume at the directory at a pinned place. If Windows takes the handle that holds the
// directory for a sharing violation, only the way to it is held, and what is there afterwards decides.
func (o *op) setMountPoint(pl *place, directory *leaf, id winpath.VolumeID) error {
	text, err := mountPointText(directory)
	if err != nil {
		return errdefs.Wrapf(err, "mounting at %s", pl.path)
	}
	err = o.Kernel.SetVolumeMountPoint(text, id.String())
	held := !errdefs.HasCode(err, win32.ERROR_SHARING_VIOLATION)
	if !held {
		pl.release(directory.Handle)
		err = o.Kernel.SetVolumeMountPoint(text, id.String())
	}
	switch {
	case errdefs.HasCode(err, win32.ERROR_DIR_NOT_EMPTY):
		return errdefs.FailedPrecondition.Errorf(reason.DirectoryNotEmpty,
			"%s is not empty, so nothing is mounted over it", pl.path)
	case err != nil:
		return errdefs.Wrapf(err, "mounting volume %s at %s", id, pl.path)
	case !held:
		return o.seeMounted(pl, id)
	}
	return nil
}

// seeMounted fails if a volume that was just mounted is not at the place. What was mounted elsewhere is not undone by
// its name, which may lead elsewhere again.
func (o *op) seeMounted(pl *place, id winpath.VolumeID) error {
	l, err := pl.open(o, 0)
	if err != nil && !errdefs.IsMissing(err) {
		return errdefs.Wrapf(err, "looking whether volume %s is mounted at %s", id, pl.path)
	}
	why, there := reason.NotMounted, "no volume"
	if err == nil {
		other, ok := l.mountedVolume()
		switch {
		case ok && o.sameVolume(other, id):
			return nil
		case ok:
			why, there = reason.OtherVolumeMounted, "volume "+other.String()
		case l.reparse != nil:
			there = "a link to " + l.reparse.SubstituteName
		}
	}
	klog.FromContext(o.Context).Info("A directory was replaced while a volume was mounted there",
		"path", pl.path, "volume", id, "there", there)
	return errdefs.FailedPrecondition.Errorf(why,
		"%s was replaced while volume %s was mounted there, and has %s; mountvol shows where the volume is mounted",
		pl.path, id, there)
}

// removedMountPoint ends what DeleteVolumeMountPointW, which failed with err, has begun at a held mount point. The
// handle that holds it deletes the reparse point if Windows took that handle for a sharing violation. It does so, too,
// if the volume is gone or does not answer, as a mount point that stays blocks the pod, and if Windows sees none there.
func (o *op) removedMountPoint(l *leaf, text, path string, err error) error {
	if err == nil {
		return nil
	}
	id, ok := l.mountedVolume()
	// Windows deletes the reparse point first and tells the mount manager then.
	if now, lookErr := lookAt(l.Handle); lookErr != nil || now.reparse != nil {
		if ok && !errdefs.HasCode(err, win32.ERROR_SHARING_VIOLATION, win32.ERROR_INVALID_PARAMETER) && o.volumeAnswers(id) {
			return errdefs.Wrapf(err, "removing the mount point %s", path)
		}
		tag := win32.DeleteReparsePoint(l.reparse.Tag)
		if _, direct := l.DeviceIoControl(win32.FSCTL_DELETE_REPARSE_POINT, tag, nil); direct != nil {
			return errdefs.Wrapf(err, "removing the mount point %s", path)
		}
	}
	var told error
	if ok {
		told = o.tellOfDeletedMountPoint(text, id)
	}
	klog.FromContext(o.Context).Info("A mount point is gone although its removal failed",
		"path", path, "err", err, "mountManagerErr", told)
	return nil
}

// tellOfDeletedMountPoint tells the mount manager what DeleteVolumeMountPointW tells it. If that fails, the mount
// manager may go on listing the path.
//
// https://learn.microsoft.com/windows-hardware/drivers/ddi/mountmgr/ni-mountmgr-ioctl_mountmgr_volume_mount_point_deleted
func (o *op) tellOfDeletedMountPoint(text string, id winpath.VolumeID) error {
	manager, err := o.Kernel.OpenDevice(kernel.MountManager, win32.GENERIC_READ|win32.GENERIC_WRITE)
	if err != nil {
		return err
	}
	defer func() { _ = manager.Close() }()
	object := func(directory, name string) string {
		return directory + strings.TrimSuffix(strings.TrimPrefix(name, `\\?\`), `\`)
	}
	gone := win32.VolumeMountPoint{Path: object(`\DosDevices\`, text), Volume: object(`\??\`, id.String())}
	_, err = manager.DeviceIoControl(win32.IOCTL_MOUNTMGR_VOLUME_MOUNT_POINT_DELETED, gone.Bytes(), nil)
	return err
}

// volumeAnswers reports whether a volume is present and answers a query of its file system.
func (o *op) volumeAnswers(id winpath.VolumeID) bool {
	_, err := o.Kernel.VolumeInformation(id.String())
	return err == nil || errdefs.HasCode(err, win32.ERROR_UNRECOGNIZED_VOLUME)
}
