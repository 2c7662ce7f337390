// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// diskAnswer is the answer of one disk.
type diskAnswer[T any] struct {
	number uint32
	value  T
}

// eachDisk asks all present disks in parallel. A disk that fails or does not answer is left out, because it may be on
// its way out; the listing fails only if every disk does.
func eachDisk[T any](o *op, f func(o *op, d *disk) (T, error)) ([]diskAnswer[T], error) {
	paths, err := o.Kernel.DiskInterfaces()
	if err != nil {
		return nil, errdefs.Errorf(err, "listing the disks")
	}
	answers := forEach(o, paths, operation.DeviceInterface,
		func(o *op, path string) (diskAnswer[T], error) { return oneDisk(o, path, f) })
	var found []diskAnswer[T]
	for i, a := range answers {
		if a.Err != nil {
			klog.FromContext(o.Context).Info("A disk is left out of the list", "device", paths[i], "err", a.Err)
			err = a.Err
			continue
		}
		found = append(found, a.Value)
	}
	if err != nil && len(found) == 0 {
		return nil, errdefs.Errorf(err, "no disk could be read")
	}
	return found, nil
}

func oneDisk[T any](o *op, path string, f func(o *op, d *disk) (T, error)) (found diskAnswer[T], err error) {
	h, err := o.Kernel.OpenDevice(path, 0)
	if err != nil {
		return found, err
	}
	defer h.Close()
	number, err := query(h, win32.IOCTL_STORAGE_GET_DEVICE_NUMBER, 12, win32.ParseStorageDeviceNumber)
	if err != nil {
		return found, err
	}
	if number.DeviceType != win32.FILE_DEVICE_DISK {
		return found, fmt.Errorf("device type %d is not a disk", number.DeviceType)
	}
	restore, err := o.TrackObject(operation.Disk(number.DeviceNumber))
	if err != nil {
		return found, err
	}
	defer restore()
	found.number = number.DeviceNumber
	found.value, err = f(o, &disk{Handle: h, number: number.DeviceNumber, path: path})
	return found, err
}
