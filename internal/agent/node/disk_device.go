// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

const readWrite = win32.GENERIC_READ | win32.GENERIC_WRITE

// disk is an open disk: the control codes that this package sends to disks, decoded.
type disk struct {
	kernel.Handle
	number uint32
	path   string // its device interface, where all disks are listed
}

// openDisk opens a disk by number. Access 0 is enough for queries.
func (o *op) openDisk(number, access uint32) (*disk, error) {
	h, err := o.kernel.OpenDevice(fmt.Sprintf(`\\.\PhysicalDrive%d`, number), access)
	if errdefs.IsMissing(err) {
		return nil, errdefs.NotFound.WrapErrorf(err, reason.DiskNotFound, "disk %d is not present on this node", number)
	}
	if err != nil {
		return nil, errdefs.Errorf(err, "opening disk %d", number)
	}
	return &disk{Handle: h, number: number}, nil
}

// openDiskToChange opens the one disk that an operation changes. Windows may deny that for a while after the disk was
// attached; WSL waits as long. Lists and queries do not: the disks of another cluster node, which deny it, may be many.
// A number may be another disk's by now, so verify, unless nil, says whether the open disk is the one that is meant.
//
// https://github.com/microsoft/WSL/blob/master/src/windows/common/disk.cpp
func (o *op) openDiskToChange(number uint32, verify func(*op, *disk) error) (*disk, error) {
	var p operation.Backoff
	for {
		d, err := o.openVerified(number, readWrite, verify)
		if !errdefs.HasCode(err, win32.ERROR_ACCESS_DENIED, win32.ERROR_SHARING_VIOLATION) || !p.Wait(openTime) {
			return d, err
		}
	}
}

// openVerified is openDisk for a disk that verify accepts, unless that is nil.
func (o *op) openVerified(number, access uint32, verify func(*op, *disk) error) (*disk, error) {
	d, err := o.openDisk(number, access)
	if err != nil || verify == nil {
		return d, err
	}
	if err := verify(o, d); err != nil {
		_ = d.Close() // nothing was written through it
		return nil, err
	}
	return d, nil
}

// isDiskOf returns the function that verifies that a volume is on an open disk. A volume whose disk has gone does not
// answer, and two disks never have one number at a time. So it needs no identifiers, and tells a disk from its clone.
func isDiskOf(id winpath.VolumeID) func(*op, *disk) error {
	return func(o *op, d *disk) error {
		extents, err := o.volumeExtents(id)
		if disks := extents.disks(); err == nil && !slices.Equal(disks, []uint32{d.number}) {
			err = errdefs.Unavailable.Errorf(reason.DiskChanged,
				"disk %d is another disk now: volume %s is on disk %d; try again", d.number, id, disks)
		}
		return err
	}
}

// refuseUnwritable fails if a disk of an unformatted volume is offline or read-only. Windows' storage provider may say
// so for some seconds after a partition was made, because its cache is old. So the disk itself is asked.
//
// https://github.com/dsccommunity/StorageDsc/issues/85
func (o *op) refuseUnwritable(id winpath.VolumeID, disks []uint32, refused error) error {
	for _, number := range disks {
		d, err := o.openDisk(number, 0)
		if err != nil {
			return err
		}
		state, err := d.state()
		readOnly := err == nil && d.isReadOnly(state)
		_ = d.Close() // nothing was written through it
		switch {
		case err != nil:
			return err
		case !state.online:
			return errdefs.FailedPrecondition.WrapErrorf(refused, reason.DiskOffline,
				"volume %s is not formatted: disk %d is offline; bring it online with SetDiskState", id, number)
		case !state.writable:
			return errdefs.FailedPrecondition.WrapErrorf(refused, reason.DiskReadOnly,
				"volume %s is not formatted: disk %d is read-only; make it writable with SetDiskState, "+
					"is_online true", id, number)
		case readOnly:
			return errdefs.FailedPrecondition.WrapErrorf(refused, reason.DiskReadOnly,
				"volume %s is not formatted: disk %d is read-only: %s", id, number, protected)
		}
	}
	return nil
}

// query sends a control code. Its answer is mostly of the given size; a longer one, of up to 1 MiB, is asked for again.
func query[T any](h kernel.Handle, code uint32, in []byte, size int, parse func([]byte) (T, error)) (answer T,
	err error) {
	for ; ; size *= 8 {
		out := make([]byte, size)
		n, err := h.DeviceIoControl(code, in, out)
		if errdefs.HasCode(err, win32.ERROR_MORE_DATA, win32.ERROR_INSUFFICIENT_BUFFER) && size < 1<<20 {
			continue
		}
		if err != nil {
			return answer, err
		}
		return parse(out[:n])
	}
}

// ask is query for a device that is opened for this one question.
func ask[T any](o *op, device string, code uint32, in []byte, size int, parse func([]byte) (T, error)) (answer T,
	err error) {
	h, err := o.kernel.OpenDevice(device, 0)
	if err != nil {
		return answer, err
	}
	defer h.Close()
	return query(h, code, in, size, parse)
}

func (d *disk) geometry() (win32.DiskGeometryEx, error) {
	geometry, err := query(d, win32.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX, nil, 256, win32.ParseDiskGeometryEx)
	return geometry, errdefs.Errorf(err, "reading the size of disk %d", d.number)
}

func (d *disk) attributes() (win32.GetDiskAttributes, error) {
	return query(d, win32.IOCTL_DISK_GET_DISK_ATTRIBUTES, nil, 16, win32.ParseGetDiskAttributes)
}

// setAttributes changes the attributes in mask, persistently. The structure's version is 40 in published code and 16
// in Microsoft's documentation, so both are tried.
func (d *disk) setAttributes(attributes, mask uint64) error {
	request := win32.SetDiskAttributes{Version: 40, Persist: true, Attributes: attributes, AttributesMask: mask}
	_, err := d.DeviceIoControl(win32.IOCTL_DISK_SET_DISK_ATTRIBUTES, request.Bytes(), nil)
	if errdefs.HasCode(err, win32.ERROR_INVALID_PARAMETER) {
		request.Version = 16
		_, err = d.DeviceIoControl(win32.IOCTL_DISK_SET_DISK_ATTRIBUTES, request.Bytes(), nil)
	}
	return err
}

// layout reads the partition table.
func (d *disk) layout() (win32.DriveLayout, error) {
	layout, err := query(d, win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, nil, win32.SizeofDriveLayout(128),
		win32.ParseDriveLayout)
	return layout, errdefs.Errorf(err, "reading the partitions of disk %d", d.number)
}

func (d *disk) setLayout(layout win32.DriveLayout) error {
	_, err := d.DeviceIoControl(win32.IOCTL_DISK_SET_DRIVE_LAYOUT_EX, layout.Bytes(), nil)
	return err
}

// updateProperties makes Windows read the partition table again.
func (d *disk) updateProperties() error {
	_, err := d.DeviceIoControl(win32.IOCTL_DISK_UPDATE_PROPERTIES, nil, nil)
	return err
}

// updateSize makes Windows ask the device for its size again. The call fails without room for the geometry.
func (d *disk) updateSize() error {
	_, err := d.DeviceIoControl(win32.IOCTL_DISK_UPDATE_DRIVE_SIZE, nil, make([]byte, 24))
	return err
}

func (d *disk) grow(partition uint32, bytes int64) error {
	request := win32.GrowPartition{Number: partition, BytesToGrow: bytes}
	_, err := d.DeviceIoControl(win32.IOCTL_DISK_GROW_PARTITION, request.Bytes(), nil)
	return err
}

func (d *disk) storageDevice() (win32.StorageDevice, error) {
	return described(d, win32.StorageDeviceProperty, win32.ParseStorageDevice)
}

// described reads and parses a descriptor of the storage property query.
func described[T any](h kernel.Handle, id uint32, parse func([]byte) (T, error)) (T, error) {
	b, err := property(h, id)
	if err != nil {
		var zero T
		return zero, err
	}
	return parse(b)
}

// property reads a variable-sized descriptor of the storage property query.
func property(h kernel.Handle, id uint32) ([]byte, error) {
	request := win32.StoragePropertyQuery{PropertyID: id, QueryType: win32.PropertyStandardQuery}.Bytes()
	for size := 4096; ; {
		buffer := make([]byte, size)
		n, err := h.DeviceIoControl(win32.IOCTL_STORAGE_QUERY_PROPERTY, request, buffer)
		if err != nil && !errdefs.HasCode(err, win32.ERROR_MORE_DATA, win32.ERROR_INSUFFICIENT_BUFFER) {
			return nil, err
		}
		if err != nil {
			n = 0
		}
		whole := 2 * size
		if n >= 8 {
			reported, err := win32.DescriptorSize(buffer[:n])
			if err != nil {
				return nil, err
			}
			if whole = int(reported); whole <= n {
				return buffer[:n], nil
			}
		}
		if whole > 1<<20 || whole <= size {
			return nil, fmt.Errorf("a descriptor of %d bytes in a buffer of %d", whole, size)
		}
		size = whole
	}
}
