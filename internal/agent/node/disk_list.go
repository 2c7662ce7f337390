// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"k8s.io/klog/v2"

	api "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	v1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// DiskIDs identify a disk wherever it is attached.
type DiskIDs struct {
	// Page83 is the first device identifier of SCSI vital product data page 83: ASCII verbatim, binary as lower-case
	// hexadecimal digits; empty when there is none.
	Page83 string
	// SerialNumber is the device's own, without surrounding blanks.
	SerialNumber string
}

// ListDiskIDs returns the identifiers of every disk, offline and raw ones included. One that a disk lacks is empty.
func (d *Disks) ListDiskIDs(ctx context.Context, _ *api.ListDiskIDsRequest) (*api.ListDiskIDsResponse, error) {
	return run(ctx, d.node, operation.On("ListDiskIDs"), func(o *op) (*api.ListDiskIDsResponse, error) {
		found, err := o.diskIDs()
		all := make(map[uint32]*api.DiskIDs, len(found))
		for _, d := range found {
			all[d.number] = &api.DiskIDs{Page83: d.ids.Page83, SerialNumber: d.ids.SerialNumber}
		}
		return &api.ListDiskIDsResponse{DiskIDs: all}, err
	})
}

func (o *op) diskIDs() ([]foundDisk, error) {
	return eachDisk(o, func(o *op, d *disk) (foundDisk, error) {
		return foundDisk{number: d.number, ids: d.ids(o.run.Context)}, nil
	})
}

func (d *disk) ids(ctx context.Context) DiskIDs {
	ids, _ := d.identify(ctx)
	return ids
}

// identify asks the disk for everything at once, and then for what is missing in the answer. Nothing is cached: a
// number and location may be those of a disk that was removed. The device is nil if the disk does not describe it.
func (d *disk) identify(ctx context.Context) (ids DiskIDs, device *win32.StorageDevice) {
	log := klog.FromContext(ctx)
	all, err := described(d, win32.StorageDeviceUniqueIdProperty, win32.ParseStorageUniqueID)
	if err != nil {
		log.V(4).Info("A disk does not report all of its identifiers at once", "disk", d.number, "err", err)
	}
	if page83, err := d.descriptor(all.DeviceID, win32.StorageDeviceIdProperty); err != nil {
		log.V(2).Info("A disk does not report its page 83 identifiers", "disk", d.number, "err", err)
	} else if descriptor, err := win32.ParseStorageDeviceID(page83); err != nil {
		log.Info("A disk's page 83 identifiers cannot be read", "disk", d.number, "err", err)
	} else {
		ids.Page83 = descriptor.Page83()
	}
	if own, err := d.descriptor(all.Device, win32.StorageDeviceProperty); err != nil {
		log.Info("A disk does not report its serial number", "disk", d.number, "err", err)
	} else if known, err := win32.ParseStorageDevice(own); err != nil {
		log.Info("A disk's serial number cannot be read", "disk", d.number, "err", err)
	} else {
		device = &known
		ids.SerialNumber = strings.Trim(win32.DeviceText(device.SerialNumber), " ")
	}
	return ids, device
}

// descriptor returns a descriptor that was part of another answer, or asks for it.
func (d *disk) descriptor(known []byte, id uint32) ([]byte, error) {
	if known != nil {
		return known, nil
	}
	return property(d, id)
}

// GetDiskNumberByName returns the number of the disk with a page 83 identifier. It fails if several disks have that
// identifier: the paths to one disk without multipath, or virtual disks whose driver gives all of them the same one.
func (d *Disks) GetDiskNumberByName(ctx context.Context,
	r *v1alpha1.GetDiskNumberByNameRequest) (*v1alpha1.GetDiskNumberByNameResponse, error) {
	if r.GetDiskName() == "" {
		return nil, errdefs.InvalidArgument.Errorf(reason.EmptyName, "the disk name is empty")
	}
	return run(ctx, d.node, operation.On("GetDiskNumberByName"),
		func(o *op) (*v1alpha1.GetDiskNumberByNameResponse, error) {
			number, err := o.diskNamed(r.GetDiskName())
			return &v1alpha1.GetDiskNumberByNameResponse{DiskNumber: strconv.FormatUint(uint64(number), 10)}, err
		})
}

func (o *op) diskNamed(name string) (uint32, error) {
	disks, err := o.diskIDs()
	if err != nil {
		return 0, err
	}
	var found []uint32
	for _, d := range disks {
		if d.ids.Page83 == name {
			found = append(found, d.number)
		}
	}
	slices.Sort(found)
	switch len(found) {
	case 0:
		return 0, errdefs.NotFound.Errorf(reason.DiskNotFound,
			"no disk on this node has the page 83 identifier %s", winpath.Quote(name))
	case 1:
		return found[0], nil
	}
	return 0, errdefs.FailedPrecondition.Errorf(reason.AmbiguousDisk,
		"the disks %d have the page 83 identifier %s; none of them is chosen", found, winpath.Quote(name))
}

// GetDiskStats returns the current size of a disk in bytes, as the device reports it; the disk may be offline.
func (d *Disks) GetDiskStats(ctx context.Context, r *api.GetDiskStatsRequest) (*api.GetDiskStatsResponse, error) {
	return run(ctx, d.node, operation.On("GetDiskStats", operation.Disk(r.GetDiskNumber())),
		func(o *op) (*api.GetDiskStatsResponse, error) {
			total, err := o.diskBytes(r.GetDiskNumber())
			return &api.GetDiskStatsResponse{TotalBytes: total}, err
		})
}

func (o *op) diskBytes(number uint32) (int64, error) {
	// A published driver exits on any error here, so a disk that is not ready is given time.
	var p operation.Backoff
	for {
		size, err := o.diskSize(number)
		if err == nil {
			return size, nil
		}
		if !errdefs.HasCode(err, win32.ERROR_NOT_READY, win32.ERROR_IO_DEVICE, win32.ERROR_BUSY) || !p.Wait(transientTime) {
			return 0, err
		}
	}
}

func (o *op) diskSize(number uint32) (int64, error) {
	d, err := o.openDisk(number, readWrite)
	if errdefs.HasCode(err, win32.ERROR_ACCESS_DENIED, win32.ERROR_WRITE_PROTECT) {
		d, err = o.openDisk(number, 0)
	} else if err == nil {
		if err := d.updateSize(); err != nil {
			o.log().V(2).Info("A disk's size is read without asking the device again", "disk", number, "err", err)
		}
	}
	if err != nil {
		return 0, err
	}
	defer d.Close()
	geometry, err := d.geometry()
	return geometry.DiskSize, err
}

// Rescan makes Windows look for added, removed and grown disks. It returns when Windows has installed new ones.
func (d *Disks) Rescan(ctx context.Context, _ *api.RescanRequest) (*api.RescanResponse, error) {
	return &api.RescanResponse{}, d.node.do(ctx, operation.On("Rescan", operation.Devices), func(o *op) error {
		if err := o.rescanDevices(); err != nil {
			return err
		}
		_, err := eachDisk(o, func(o *op, d *disk) (struct{}, error) {
			o.refresh(d.number)
			return struct{}{}, nil
		})
		return err
	})
}

// rescanDevices enumerates the devices again or, if Windows refuses that, its storage alone. Then it waits for those
// that are being installed: Azure's driver looks for its disk once after this.
func (o *op) rescanDevices() error {
	if refused := o.kernel.ReenumerateDevices(); refused != nil {
		if err := o.kernel.UpdateStorageCache(); err != nil {
			return errdefs.Errorf(refused, "looking for devices (and for storage: %v)", err)
		}
		o.log().Info("Windows does not enumerate its devices again, and has looked for storage instead", "err", refused)
	}
	if err := o.kernel.WaitForDeviceInstalls(installTime); err != nil {
		// Another device may be the one that takes so long.
		o.log().Info("Windows may still be installing devices", "err", err)
	}
	return nil
}

// refresh makes Windows read a disk's size and partition table again. A failure is only logged: the disk may have been
// detached.
func (o *op) refresh(number uint32) {
	d, err := o.openDisk(number, readWrite)
	if err == nil {
		defer d.Close()
		if err = d.updateSize(); err == nil {
			err = d.updateProperties()
		}
	}
	if err != nil {
		o.log().V(2).Info("A disk was not refreshed", "disk", number, "err", err)
	}
}
