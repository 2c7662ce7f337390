// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"slices"
	"strconv"

	api "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// DiskLocation is a disk's SCSI address (IOCTL_SCSI_GET_ADDRESS), each part a bare decimal number.
type DiskLocation struct {
	Adapter string // port number
	Bus     string // path id
	Target  string
	LUNID   string // empty if a driver must not find the disk by it
}

// ListDiskLocations returns the address of every disk that has one, offline disks included. The driver that looks for
// LUNs takes the first disk with the right one, on any adapter, and partitions, formats or mounts it. So only a disk
// that a cloud or an array may have attached there has a LUN: not one on a bus without LUNs, nor one that Windows
// needs, nor one beside the disk that Windows starts from, where the machine has another adapter for data disks.
func (d *Disks) ListDiskLocations(ctx context.Context,
	_ *api.ListDiskLocationsRequest) (*api.ListDiskLocationsResponse, error) {
	return run(ctx, d.node, operation.On("ListDiskLocations"), func(o *op) (*api.ListDiskLocationsResponse, error) {
		found, err := eachDisk(o, func(_ *op, d *disk) (foundDisk, error) { return d.located() })
		if err == nil {
			err = o.findLUNs(found)
		}
		all := make(map[uint32]*api.DiskLocation, len(found))
		for _, d := range found {
			if at := d.address; d.hasAddress() { // else it is left out rather than guessed
				all[d.number] = &api.DiskLocation{Adapter: at.Adapter, Bus: at.Bus, Target: at.Target, LUNID: d.lun}
			}
		}
		return &api.ListDiskLocationsResponse{DiskLocations: all}, err
	})
}

// located asks a disk for what findLUNs needs.
func (d *disk) located() (found foundDisk, err error) {
	found.number = d.number
	if found.address, err = d.location(); err != nil || !found.hasAddress() {
		return found, err
	}
	device, err := d.storageDevice()
	if err != nil && !unknownRequest(err) {
		return found, err
	}
	found.busType = device.BusType
	found.layout, err = d.layoutOnBus(found.busType)
	return found, err
}

// findLUNs gives those disks a LUN that drivers may find by it.
func (o *op) findLUNs(found []foundDisk) error {
	windows, err := o.systemUse()
	if err != nil {
		return err
	}
	own, err := o.adaptersOfWindows(found, windows)
	if err != nil {
		return err
	}
	for i, d := range found {
		if d.mayHaveLUN(windows) && !slices.Contains(own, d.address.Adapter) {
			found[i].lun = d.address.LUNID
		}
	}
	return nil
}

// layoutOnBus is layout for a disk on a bus with LUNs. On others, what the disk holds makes no difference.
func (d *disk) layoutOnBus(busType uint32) (win32.DriveLayout, error) {
	if !hasLUN(busType) {
		return win32.DriveLayout{}, nil
	}
	return d.layout()
}

func (d foundDisk) hasAddress() bool { return d.address != DiskLocation{} }

// location returns the address of a disk, the zero value if it has none, as in Storage Spaces and on some hypervisors.
func (d *disk) location() (DiskLocation, error) {
	address, err := query(d, win32.IOCTL_SCSI_GET_ADDRESS, nil, 8, win32.ParseSCSIAddress)
	if unknownRequest(err) {
		return DiskLocation{}, nil
	}
	if err != nil {
		return DiskLocation{}, err
	}
	return DiskLocation{
		Adapter: strconv.Itoa(int(address.PortNumber)),
		Bus:     strconv.Itoa(int(address.PathID)),
		Target:  strconv.Itoa(int(address.TargetID)),
		LUNID:   strconv.Itoa(int(address.LUN)),
	}, nil
}

// unknownRequest reports whether a driver does not know a control code or property.
func unknownRequest(err error) bool {
	return errdefs.HasCode(err, win32.ERROR_INVALID_FUNCTION, win32.ERROR_NOT_SUPPORTED, win32.ERROR_INVALID_PARAMETER)
}

// hasLUN reports whether disks on a bus are addressed by LUN. Windows may give a number for others as well, mostly 0:
// NVMe namespaces, for which MSFT_Disk.Location has none, ATA, SATA and USB disks, and virtual hard disks in files.
func hasLUN(busType uint32) bool {
	switch busType {
	case win32.BusTypeScsi, win32.BusTypeFibre, win32.BusTypeRAID, win32.BusTypeiScsi, win32.BusTypeSas:
		return true
	}
	return false
}

// mayHaveLUN reports whether drivers may find a disk by its LUN, as far as that does not depend on its adapter.
func (d foundDisk) mayHaveLUN(windows systemUses) bool {
	return d.hasAddress() && hasLUN(d.busType) && windows.reason(d.number, d.layout) == ""
}

// adaptersOfWindows returns the adapters of the disks that Windows starts from, unless they are the machine's only ones
// of their kind: then its data disks are there as well. On Azure, the temporary disk is at the system disk's adapter,
// and data disks are at a second adapter, which every machine has.
func (o *op) adaptersOfWindows(found []foundDisk, windows systemUses) ([]string, error) {
	var own []string
	for _, number := range windows.startDisks() {
		i := slices.IndexFunc(found, func(d foundDisk) bool { return d.number == number })
		if i < 0 {
			return nil, errdefs.Unavailable.Errorf(reason.NotAnswering,
				"disk %d, from which Windows starts, does not report its address", number)
		}
		start := found[i]
		if !start.hasAddress() || slices.Contains(own, start.address.Adapter) {
			continue
		}
		if !slices.ContainsFunc(found, func(d foundDisk) bool {
			return d.mayHaveLUN(windows) && d.address.Adapter == start.address.Adapter
		}) {
			continue // no LUN depends on it
		}
		others, err := o.adaptersOn(start.busType)
		if err != nil {
			return nil, err
		}
		if others != 1 { // 0: Windows does not tell
			own = append(own, start.address.Adapter)
		}
	}
	return own, nil
}

// adaptersOn counts the adapters with a bus type. One that does not answer counts as well: it makes adaptersOfWindows
// withhold LUNs, and no LUN is better than a wrong one.
func (o *op) adaptersOn(busType uint32) (count int, err error) {
	paths, err := o.kernel.AdapterInterfaces()
	if err != nil {
		return 0, errdefs.Errorf(err, "listing the storage adapters")
	}
	for i, a := range forEach(o, paths, operation.DeviceInterface, (*op).adapter) {
		switch {
		case unknownRequest(a.Err):
		case a.Err != nil:
			o.log().Info("A storage adapter does not report its bus type", "device", paths[i], "err", a.Err)
			count++
		case uint32(a.Value.BusType) == busType:
			count++
		}
	}
	return count, nil
}

func (o *op) adapter(path string) (win32.StorageAdapter, error) {
	h, err := o.kernel.OpenDevice(path, 0)
	if err != nil {
		return win32.StorageAdapter{}, err
	}
	defer h.Close()
	return described(h, win32.StorageAdapterProperty, win32.ParseStorageAdapter)
}
