// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"sync"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// A foundDisk is a disk as a look at all disks found it, as far as the look asked.
type foundDisk struct {
	number  uint32 // changes when disks come and go
	ids     DiskIDs
	model   string            // older versions of Windows give 16 characters
	busType uint32            // known also of a disk without an address; or busUnread
	path    string            // of its device interface
	address DiskLocation      // the zero value: it has none
	layout  win32.DriveLayout // on a bus with LUNs
	lun     string            // by which a driver may find it; empty: none
	facts   *admin.Disk       // for an operator
}

// unknownDisk is a disk that is present and does not answer.
type unknownDisk struct {
	number *uint32 // nil: not known either
	err    error
}

// eachDisk asks all present disks in parallel. Those that fail are left out, as the call's gaps; if all do, it fails.
func eachDisk[T any](o *op, f func(o *op, d *disk) (T, error)) ([]T, error) {
	paths, err := o.diskInterfaces()
	if err != nil {
		return nil, err
	}
	found, unknown := disksAt(o, paths, f)
	if len(found) == 0 && len(unknown) > 0 {
		return nil, errdefs.Errorf(unknown[0].err, "no disk could be read")
	}
	return found, nil
}

func (o *op) diskInterfaces() ([]string, error) {
	paths, err := o.kernel.DiskInterfaces()
	return paths, errdefs.Errorf(err, "listing the disks")
}

// disksAt asks the disks of device interfaces in parallel. A disk that fails is unknown, unless it has gone meanwhile.
func disksAt[T any](o *op, paths []string, f func(o *op, d *disk) (T, error)) (found []T, unknown []unknownDisk) {
	var numbers sync.Map // by device interface, as soon as they are known
	answers := forEach(o, paths, operation.DeviceInterface,
		func(o *op, path string) (T, error) { return oneDisk(o, path, &numbers, f) })
	for i, a := range answers {
		if a.Err == nil {
			found = append(found, a.Value)
			continue
		}
		o.log().Info("A disk is left out of the list", "device", paths[i], "err", a.Err)
		errdefs.LeftOut(o.run.Context, a.Err)
		if !errdefs.IsMissing(a.Err) {
			number, _ := numbers.Load(paths[i])
			known, _ := number.(*uint32)
			unknown = append(unknown, unknownDisk{known, a.Err})
		}
	}
	return found, unknown
}

func oneDisk[T any](o *op, path string, numbers *sync.Map,
	f func(o *op, d *disk) (T, error)) (found T, err error) {
	h, err := o.kernel.OpenDevice(path, 0)
	if err != nil {
		return found, err
	}
	defer h.Close()
	number, err := query(h, win32.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, 12, win32.ParseStorageDeviceNumber)
	if err != nil {
		return found, err
	}
	if number.DeviceType != win32.FILE_DEVICE_DISK {
		return found, fmt.Errorf("device type %d is not a disk", number.DeviceType)
	}
	numbers.Store(path, &number.DeviceNumber)
	restore, err := o.run.TrackObject(operation.Disk(number.DeviceNumber))
	if err != nil {
		return found, err
	}
	defer restore()
	return f(o, &disk{Handle: h, number: number.DeviceNumber, path: path})
}

// contentOfDisk names what an online disk without a data partition holds, "" for a blank one.
func (o *op) contentOfDisk(number uint32, layout win32.DriveLayout, size int64) (string, error) {
	d, err := o.openDisk(number, win32.GENERIC_READ)
	if err != nil {
		return "", err
	}
	defer d.Close()
	return d.contentBeside(layout, size)
}
