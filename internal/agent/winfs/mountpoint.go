// SPDX-License-Identifier: Apache-2.0

package winfs

import (
	"errors"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// MountPointText returns the path of an open directory for calls that take it as text. The location is pinned, so the
// text keeps its meaning while the call runs.
func MountPointText(directory *File) (string, error) {
	text, err := directory.FinalPath(win32.VOLUME_NAME_DOS)
	if errdefs.IsMissing(err) { // the directory is on a volume without a drive letter or mount point
		text, err = directory.FinalPath(win32.VOLUME_NAME_GUID)
	}
	return text + `\`, err
}

// busyTime is how long a sharing violation may be that of another program, such as a virus scanner.
const busyTime = 500 * time.Millisecond

// ErrReplaced means that another link or mount point has come to a directory.
var ErrReplaced = errors.New("another mount point or link has come there")

// RetryBusy calls f, which makes or removes a mount point, with the path of a pinned directory. It repeats that while
// there is a sharing violation, for busyTime. One that stays is taken for that of the operation's own handle; the next
// call of RetryBusy does not wait then. A mount point that is replaced meanwhile is ErrReplaced.
func (fs *FS) RetryBusy(l *File, f func(text string) error) (text string, err error) {
	for {
		if text, err = MountPointText(l); err == nil {
			err = f(text)
		}
		if !errdefs.HasCode(err, win32.ERROR_SHARING_VIOLATION) {
			fs.busy = operation.Backoff{}
			return text, err
		}
		if !fs.busy.Wait(busyTime) {
			return text, err
		}
		now, lookErr := ReadReparsePoint(l.Handle)
		if l.Reparse != nil && (lookErr != nil || now != nil && now.SubstituteName != l.Reparse.SubstituteName) {
			return text, ErrReplaced
		}
	}
}

// RemovedMountPoint finishes a DeleteVolumeMountPointW that failed with err at a pinned mount point. It deletes the
// reparse point by the handle if Windows takes that handle for a sharing violation. It also does so if the volume is
// gone or does not answer, because a mount point that stays blocks the pod, and if Windows sees no mount point there.
func (fs *FS) RemovedMountPoint(l *File, text, path string, err error) error {
	if err == nil {
		return nil
	}
	id, ok := l.MountedVolume()
	// Windows deletes the reparse point first, and then tells the mount manager.
	if now, lookErr := LookAt(l.Handle); lookErr != nil || now.Reparse != nil {
		if ok && !errdefs.HasCode(err, win32.ERROR_SHARING_VIOLATION, win32.ERROR_INVALID_PARAMETER) && fs.volumeAnswers(id) {
			return errdefs.Errorf(err, "removing the mount point %s", path)
		}
		tag := win32.DeleteReparsePoint(l.Reparse.Tag)
		if _, direct := l.DeviceIoControl(win32.FSCTL_DELETE_REPARSE_POINT, tag, nil); direct != nil {
			return errdefs.Errorf(err, "removing the mount point %s", path)
		}
	}
	var told error
	if ok {
		told = fs.tellOfDeletedMountPoint(text, id)
	}
	klog.FromContext(fs.run.Context).Info("A mount point is gone although its removal failed",
		"path", path, "err", err, "mountManagerErr", told)
	return nil
}

// tellOfDeletedMountPoint tells the mount manager what DeleteVolumeMountPointW does, or it may go on listing the path.
//
// https://learn.microsoft.com/windows-hardware/drivers/ddi/mountmgr/ni-mountmgr-ioctl_mountmgr_volume_mount_point_deleted
func (fs *FS) tellOfDeletedMountPoint(text string, id winpath.VolumeID) error {
	manager, err := fs.kernel.OpenDevice(kernel.MountManager, win32.GENERIC_READ|win32.GENERIC_WRITE)
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
func (fs *FS) volumeAnswers(id winpath.VolumeID) bool {
	_, err := fs.kernel.VolumeInformation(id.String())
	return err == nil || errdefs.HasCode(err, win32.ERROR_UNRECOGNIZED_VOLUME)
}
