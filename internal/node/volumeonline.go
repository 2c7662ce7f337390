// SPDX-License-Identifier: Apache-2.0

package node

import (
	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// bringVolumeOnline brings a volume online that Windows left offline at its arrival, as it does when automount is off
// (mountvol /N): no file system is mounted on it, and every read fails with ERROR_NOT_READY.
//
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddvol/ni-ntddvol-ioctl_volume_online
func (o *op) bringVolumeOnline(id winpath.VolumeID) error {
	offline, err := o.isVolumeOffline(id)
	if err != nil || !offline {
		return err
	}
	h, err := o.k.OpenDevice(id.Device(), readWrite)
	if err != nil {
		return fail(err, "opening volume %s to bring it online", id)
	}
	defer h.Close()
	if _, err := h.DeviceIoControl(win32.IOCTL_VOLUME_ONLINE, nil, nil); err != nil {
		return fail(err, "bringing volume %s online", id)
	}
	klog.FromContext(o.ctx).Info("A volume was offline and is online now", "volume", id)
	return nil
}

// isVolumeOffline reports whether a volume is offline. Windows answers with success for yes and with an error for no.
func (o *op) isVolumeOffline(id winpath.VolumeID) (bool, error) {
	back, err := o.reach(volumeObject(id))
	if err != nil {
		return false, err
	}
	defer back()
	h, err := o.k.OpenDevice(id.Device(), 0)
	if err != nil {
		return false, fail(err, "opening volume %s", id)
	}
	defer h.Close()
	_, err = h.DeviceIoControl(win32.IOCTL_VOLUME_IS_OFFLINE, nil, nil)
	return err == nil, nil
}
