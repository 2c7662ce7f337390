// SPDX-License-Identifier: Apache-2.0

package winfs

import (
	"errors"
	"fmt"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// VolumeNotFoundError returns the error for a volume that is not there.
func VolumeNotFoundError(id winpath.VolumeID, err error) error {
	return errdefs.NotFound.WrapErrorf(err, reason.VolumeNotFound,
		"volume %s is not present on this node; its disk may be detached or offline", id)
}

// VolumePresent reports whether a volume is present, formatted or not.
func (fs *FS) VolumePresent(id winpath.VolumeID) bool {
	restore, err := fs.run.TrackObject(operation.Volume(id))
	if err != nil {
		return true // a volume that does not answer is present
	}
	defer restore()
	h, err := fs.kernel.OpenDevice(id.Device(), 0)
	if err != nil {
		return false
	}
	_ = h.Close()
	return true
}

// FlushVolume writes cached data. A write-protected volume has none.
func (fs *FS) FlushVolume(id winpath.VolumeID) error {
	h, err := fs.kernel.OpenDevice(id.Device(), win32.GENERIC_READ|win32.GENERIC_WRITE)
	if errdefs.IsMissing(err) {
		return VolumeNotFoundError(id, err)
	}
	if err == nil {
		err = errors.Join(h.Flush(), h.Close())
	}
	if errdefs.HasCode(err, win32.ERROR_WRITE_PROTECT) {
		return nil
	}
	return errdefs.Errorf(err, "flushing volume %s", id)
}

// FlushBeforeUnmount makes an unmount fail if data could be lost, but not if the device has gone: a mount point that
// can never be removed would block the pod.
func (fs *FS) FlushBeforeUnmount(id winpath.VolumeID) error {
	err := fs.FlushVolume(id)
	if err == nil {
		return nil
	}
	// The code of the failed flush does not distinguish a device that has gone from a passing error; a second query does.
	_, queryErr := fs.kernel.VolumeInformation(id.String())
	if errdefs.HasCode(queryErr, win32.ERROR_UNRECOGNIZED_VOLUME) {
		if errdefs.HasCode(err, win32.ERROR_INVALID_FUNCTION, win32.ERROR_NOT_SUPPORTED) {
			// No file system caches, and the device has no cache.
			klog.FromContext(fs.run.Context).V(2).Info("A raw volume is unmounted without a flush", "volume", id, "err", err)
			return nil
		}
		return err
	}
	if queryErr != nil {
		klog.FromContext(fs.run.Context).Info("A volume that is gone is unmounted without a flush", "volume", id, "err",
			err, "query", queryErr)
		return nil
	}
	return err
}

// SystemVolume returns the volume that Windows runs from.
func (fs *FS) SystemVolume() (winpath.VolumeID, error) {
	if id := fs.policy.system.Load(); id != nil {
		return *id, nil
	}
	directory, err := fs.kernel.SystemWindowsDirectory()
	if err != nil {
		return winpath.VolumeID{}, errdefs.Errorf(err, "asking which drive Windows runs from")
	}
	if len(directory) < 3 {
		return winpath.VolumeID{}, fmt.Errorf("the system directory is %q", directory)
	}
	name, err := fs.kernel.VolumeNameForMountPoint(directory[:3])
	if err != nil {
		return winpath.VolumeID{}, errdefs.Errorf(err, "asking for the volume of drive %s", directory[:3])
	}
	id, err := winpath.ParseVolumeID(name)
	if err != nil {
		return winpath.VolumeID{}, err
	}
	fs.policy.system.Store(&id)
	return id, nil
}
