// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// bringPartitionOnline brings the volume of the partition that begins at an offset online, if it has arrived. By one of
// Microsoft's pages an offline volume refuses every control code, so the volume need not tell where it lies.
//
// https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-ioctl_volume_online
func (o *op) bringPartitionOnline(d *disk, offset int64) error {
	_, partition, err := d.partitionAt(offset)
	if err != nil {
		return err
	}
	device := partitionDevice(d.number, partition.Number)
	if err := o.bringDeviceOnline(operation.VolumeDevice(device), device, d.number, offset); !errdefs.IsMissing(err) {
		return err
	}
	return nil
}

// bringDeviceOnline brings a volume online that Windows left offline at its arrival, as it does when automount is off
// (mountvol /N): no file system is mounted on it, and every read fails with ERROR_NOT_READY.
//
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddvol/ni-ntddvol-ioctl_volume_online
func (o *op) bringDeviceOnline(volume operation.Object, device string, disk uint32, offset int64) error {
	offline, err := o.isVolumeOffline(volume, device)
	if err != nil || !offline {
		return err
	}
	err = o.sendOnline(device)
	if err != nil && !errdefs.IsMissing(err) {
		err = o.byProvider(err, func() error { return o.kernel.OnlinePartition(disk, offset) })
	}
	if err != nil {
		return errdefs.Errorf(err, "bringing volume %s online", volume)
	}
	o.log().Info("A volume was offline and is online now", "volume", volume)
	return nil
}

func (o *op) sendOnline(device string) error {
	h, err := o.kernel.OpenDevice(device, readWrite)
	if err != nil {
		return err
	}
	defer h.Close()
	_, err = h.DeviceIoControl(win32.IOCTL_VOLUME_ONLINE, nil, nil)
	return err
}

// byProvider makes Windows' storage management do what a device refused: it has its own ways.
func (o *op) byProvider(refused error, do func() error) error {
	err := o.kernel.UpdateStorageCache() // or it may not know the latest state
	if err == nil {
		err = do()
	}
	if err != nil {
		return fmt.Errorf("%w (and otherwise: %w)", refused, err)
	}
	return nil
}

// isVolumeOffline reports whether a volume is offline. Windows answers with success for yes and with an error for no. A
// volume that is not ready may be one that refuses every control code, and counts as offline.
func (o *op) isVolumeOffline(volume operation.Object, device string) (bool, error) {
	restore, err := o.run.TrackObject(volume)
	if err != nil {
		return false, err
	}
	defer restore()
	h, err := o.kernel.OpenDevice(device, 0)
	if err != nil {
		return false, errdefs.Errorf(err, "opening volume %s", volume)
	}
	defer h.Close()
	_, err = h.DeviceIoControl(win32.IOCTL_VOLUME_IS_OFFLINE, nil, nil)
	return err == nil || errdefs.HasCode(err, win32.ERROR_NOT_READY), nil
}
