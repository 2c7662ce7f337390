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

// diskPlace is a disk with the facts that decide whether it has a LUN.
type diskPlace struct {
	location DiskLocation
	busType  uint32
	layout   win32.DriveLayout
}

// ListDiskLocations returns the address of every disk that has one, offline disks included. The driver that looks for
// LUNs takes the first disk with the right one, on any adapter, and partitions, formats or mounts it. So only a disk
// that a cloud or an array may have attached there has a LUN: not one on a bus without LUNs, nor one that Windows
// needs, nor one beside the disk that Windows starts from, where the machine has another adapter for data disks.
func (d *Disks) ListDiskLocations(ctx context.Context,
	_ *api.ListDiskLocationsRequest) (*api.ListDiskLocationsResponse, error) {
	return run(ctx, d.node, operation.On("ListDiskLocations"), func(o *op) (*api.ListDiskLocationsResponse, error) {
		found, err := o.diskLocations()
		all := make(map[uint32]*api.DiskLocation, len(found))
		for number, l := range found {
			all[number] = &api.DiskLocation{Adapter: l.Adapter, Bus: l.Bus, Target: l.Target, LUNID: l.LUNID}
		}
		return &api.ListDiskLocationsResponse{DiskLocations: all}, err
	})
}

func (o *op) diskLocations() (map[uint32]DiskLocation, error) {
	found, err := eachDisk(o, func(_ *op, d *disk) (*diskPlace, error) {
		location, err := d.location()
		if unknownRequest(err) {
			return nil, nil //nolint:nilnil // Storage Spaces and some virtual disks have no address: leave them out rather than guess
		}
		if err != nil {
			return nil, err
		}
		device, err := d.storageDevice()
		if err != nil && !unknownRequest(err) {
			return nil, err
		}
		return d.placed(location, device.BusType)
	})
	if err != nil {
		return nil, err
	}
	return o.withLUNs(found)
}

// withLUNs returns the addresses of disks, with a LUN where drivers may find the disk by it.
func (o *op) withLUNs(found []diskAnswer[*diskPlace]) (map[uint32]DiskLocation, error) {
	windows, err := o.systemUse()
	if err != nil {
		return nil, err
	}
	own, err := o.adaptersOfWindows(found, windows)
	if err != nil {
		return nil, err
	}
	locations := map[uint32]DiskLocation{}
	for _, disk := range found {
		if disk.value == nil {
			continue
		}
		location := disk.value.location
		if !mayHaveLUN(disk, windows) || slices.Contains(own, location.Adapter) {
			location.LUNID = ""
		}
		locations[disk.number] = location
	}
	return locations, nil
}

func (d *disk) placed(location DiskLocation, busType uint32) (*diskPlace, error) {
	placed := &diskPlace{location: location, busType: busType}
	if !hasLUN(busType) {
		return placed, nil // what it holds makes no difference
	}
	var err error
	placed.layout, err = d.layout()
	return placed, err
}

func (d *disk) location() (DiskLocation, error) {
	address, err := query(d, win32.IOCTL_SCSI_GET_ADDRESS, nil, 8, win32.ParseSCSIAddress)
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
func mayHaveLUN(d diskAnswer[*diskPlace], windows systemUses) bool {
	return d.value != nil && hasLUN(d.value.busType) && windows.reason(d.number, d.value.layout) == ""
}

// adaptersOfWindows returns the adapters of the disks that Windows starts from, unless they are the machine's only ones
// of their kind: then its data disks are there as well. On Azure, the temporary disk is at the system disk's adapter,
// and data disks are at a second adapter, which every machine has.
func (o *op) adaptersOfWindows(found []diskAnswer[*diskPlace], windows systemUses) ([]string, error) {
	var own []string
	for _, number := range windows.startDisks() {
		i := slices.IndexFunc(found, func(d diskAnswer[*diskPlace]) bool { return d.number == number })
		if i < 0 {
			return nil, errdefs.Unavailable.Errorf(reason.NotAnswering,
				"disk %d, from which Windows starts, does not report its address", number)
		}
		start := found[i]
		if start.value == nil || slices.Contains(own, start.value.location.Adapter) {
			continue
		}
		beside := func(d diskAnswer[*diskPlace]) bool {
			return mayHaveLUN(d, windows) && d.value.location.Adapter == start.value.location.Adapter
		}
		if !slices.ContainsFunc(found, beside) {
			continue // no LUN depends on it
		}
		others, err := o.adaptersOn(start.value.busType)
		if err != nil {
			return nil, err
		}
		if others != 1 { // 0: Windows does not tell
			own = append(own, start.value.location.Adapter)
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
