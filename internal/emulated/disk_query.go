// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
)

// answer answers a control code to a disk.
func (d *disk) answer(code uint32, in, out []byte) (int, error) {
	const malformed = win32.ERROR_INVALID_PARAMETER
	if !d.attached() {
		return 0, errVolumeGone
	}
	switch code {
	case win32.IOCTL_DISK_SET_DISK_ATTRIBUTES:
		return 0, given(in, deviceside.Parse[win32.SetDiskAttributes], malformed, d.setDiskAttributes)
	case win32.IOCTL_DISK_CREATE_DISK:
		return 0, given(in, deviceside.ParseCreateDisk, malformed, d.createDisk)
	case win32.IOCTL_DISK_SET_DRIVE_LAYOUT_EX:
		return 0, given(in, win32.ParseDriveLayout, malformed, d.setLayout)
	case win32.IOCTL_DISK_GROW_PARTITION:
		return 0, given(in, deviceside.Parse[win32.GrowPartition], malformed, d.growPartition)
	case win32.IOCTL_DISK_UPDATE_DRIVE_SIZE:
		return d.updateDriveSize(out)
	case win32.IOCTL_DISK_UPDATE_PROPERTIES:
		return 0, d.updateProperties()
	case win32.IOCTL_STORAGE_GET_DEVICE_NUMBER:
		number := win32.StorageDeviceNumber{DeviceType: win32.FILE_DEVICE_DISK, DeviceNumber: d.record.Number}
		return put(out, cstruct.Encode(number))
	case win32.IOCTL_STORAGE_QUERY_PROPERTY:
		return d.queryProperty(in, out)
	case win32.IOCTL_SCSI_GET_ADDRESS:
		return put(out, deviceside.SCSIAddress(d.address()))
	case win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX:
		return d.getLayout(out)
	case win32.IOCTL_DISK_GET_LENGTH_INFO:
		return put(out, cstruct.Encode(d.image.Size))
	case win32.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX:
		return put(out, d.geometry())
	case win32.IOCTL_DISK_GET_DISK_ATTRIBUTES:
		return put(out, cstruct.Encode(win32.GetDiskAttributes{Version: win32.SizeofGetDiskAttributes,
			Attributes: d.attributes()}))
	case win32.IOCTL_DISK_IS_WRITABLE:
		return 0, d.writable()
	}
	return 0, win32.ERROR_INVALID_FUNCTION
}

func (d *disk) address() win32.SCSIAddress {
	lun := d.record.LUN
	if d.record.BusType == win32.BusTypeNvme {
		lun = 0
	}
	return win32.SCSIAddress{PortNumber: d.record.Adapter, PathID: d.record.Bus, TargetID: d.record.Target, LUN: lun}
}

func (d *disk) attributes() (bits uint64) {
	if d.record.Offline {
		bits |= win32.DISK_ATTRIBUTE_OFFLINE
	}
	if d.record.ReadOnly {
		bits |= win32.DISK_ATTRIBUTE_READ_ONLY
	}
	return bits
}

// geometry returns the DISK_GEOMETRY_EX, which begins with the DISK_GEOMETRY. Of that only the size of sectors has a
// meaning.
func (d *disk) geometry() []byte {
	return cstruct.Encode(win32.DiskGeometryEx{BytesPerSector: d.record.SectorSize, DiskSize: d.image.Size})
}

// queryProperty returns as much of the descriptor as fits, so that a caller can ask for the header first.
func (d *disk) queryProperty(in, out []byte) (int, error) {
	query, err := deviceside.ParseStoragePropertyQuery(in)
	if err != nil {
		return 0, win32.ERROR_INVALID_PARAMETER
	}
	var descriptor []byte
	switch query.PropertyID {
	case win32.StorageDeviceProperty:
		descriptor = d.deviceDescriptor()
	case win32.StorageDeviceUniqueIdProperty:
		unique := d.uniqueID()
		if unique.DeviceID == nil && unique.Device == nil {
			return 0, win32.ERROR_NOT_FOUND
		}
		descriptor = deviceside.StorageUniqueID(unique)
	case win32.StorageDeviceIdProperty:
		if len(d.record.Identifiers) == 0 {
			return 0, win32.ERROR_NOT_SUPPORTED // the device has no such page
		}
		descriptor = deviceside.StorageDeviceID(win32.StorageDeviceID{Identifiers: d.record.Identifiers})
	default:
		return 0, win32.ERROR_INVALID_FUNCTION
	}
	if len(out) < headerBytes {
		return 0, win32.ERROR_INSUFFICIENT_BUFFER
	}
	if query.PropertyID == win32.StorageDeviceUniqueIdProperty && len(out) > headerBytes && len(out) < len(descriptor) {
		return copy(out, descriptor[:headerBytes]), win32.ERROR_MORE_DATA // no more than the header, and an error
	}
	return copy(out, descriptor), nil
}

func (d *disk) deviceDescriptor() []byte {
	vendor, product := made(d.record)
	return deviceside.StorageDevice{
		BusType: uint32(d.record.BusType), VendorID: vendor, ProductID: product, ProductRevision: "1.0",
		SerialNumber: d.record.SerialNumber,
	}.Bytes()
}

// made returns the vendor and the product that a disk reports. Of an NVMe disk with a model, Windows makes the vendor
// "NVMe".
func made(r bundle.Record) (vendor, product string) {
	if r.Model != "" {
		return "NVMe", r.Model
	}
	return "Emulated", "Disk"
}

// uniqueID is put together as Windows' class driver does it: of the device's own descriptor only if that has a serial
// number.
func (d *disk) uniqueID() (u win32.StorageUniqueID) {
	if len(d.record.Identifiers) > 0 {
		u.DeviceID = deviceside.StorageDeviceID(win32.StorageDeviceID{Identifiers: d.record.Identifiers})
	}
	if d.record.SerialNumber != "" {
		u.Device = d.deviceDescriptor()
	}
	return u
}

// span returns all of the disk, even while it is offline.
func (d *disk) span() (span, error) {
	if !d.attached() {
		return span{}, errVolumeGone
	}
	return span{d, 0, d.image.Size}, nil
}
