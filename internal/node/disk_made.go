// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// DiskDevice is what Windows' drivers say of a disk beside its identifiers.
type DiskDevice struct {
	Model string // older versions of Windows give 16 characters
	Path  string // of its device interface
	LUN   uint8  // of its SCSI address, whatever it means on its bus
}

// Devices returns the device of every disk by its number. The steps ask, for marks that the group disk does not have.
func (d *Disks) Devices(ctx context.Context) (map[uint32]DiskDevice, error) {
	return read(ctx, d.node, operation.On("ListDiskDevices"), func(o *op) (map[uint32]DiskDevice, error) {
		devices := map[uint32]DiskDevice{}
		found, err := eachDisk(o, func(_ *op, d *disk) (DiskDevice, error) { return d.made() })
		for _, disk := range found {
			devices[disk.number] = disk.value
		}
		return devices, err
	})
}

func (d *disk) made() (DiskDevice, error) {
	own, err := d.storageDevice()
	if err != nil {
		return DiskDevice{}, err
	}
	address, err := query(d, win32.IOCTL_SCSI_GET_ADDRESS, 8, win32.ParseSCSIAddress)
	if err != nil && !unknownRequest(err) {
		return DiskDevice{}, err
	}
	return DiskDevice{Model: strings.TrimSpace(win32.DeviceText(own.ProductID)), Path: d.path, LUN: address.LUN}, nil
}
