// SPDX-License-Identifier: Apache-2.0

package win32

import (
	"bytes"
	"unicode/utf8"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
)

// FILE_DEVICE_DISK is the StorageDeviceNumber.DeviceType of a disk.
const FILE_DEVICE_DISK = 0x07

// StorageDeviceNumber is STORAGE_DEVICE_NUMBER: a disk, unique among devices of one type, and a partition of it.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-storage_device_number
type StorageDeviceNumber struct {
	DeviceType      uint32 // FILE_DEVICE_DISK for disks
	DeviceNumber    uint32 // N of \\.\PhysicalDriveN
	PartitionNumber uint32 // 0 or 0xFFFFFFFF for the disk itself
}

// ParseStorageDeviceNumber decodes the output of IOCTL_STORAGE_GET_DEVICE_NUMBER.
func ParseStorageDeviceNumber(in []byte) (StorageDeviceNumber, error) {
	return cstruct.Parse[StorageDeviceNumber]("STORAGE_DEVICE_NUMBER", in, 12)
}

// Properties and kinds of query for StoragePropertyQuery.
const (
	StorageDeviceProperty         = 0 // answered with STORAGE_DEVICE_DESCRIPTOR
	StorageAdapterProperty        = 1 // answered with STORAGE_ADAPTER_DESCRIPTOR
	StorageDeviceIdProperty       = 2 // answered with STORAGE_DEVICE_ID_DESCRIPTOR
	StorageDeviceUniqueIdProperty = 3 // answered with STORAGE_DEVICE_UNIQUE_IDENTIFIER

	PropertyStandardQuery = 0
)

// StoragePropertyQuery is STORAGE_PROPERTY_QUERY, the input of IOCTL_STORAGE_QUERY_PROPERTY.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-storage_property_query
type StoragePropertyQuery struct {
	PropertyID uint32 // StorageDeviceProperty and so on
	QueryType  uint32 // PropertyStandardQuery
	_          uint32 // AdditionalParameters
}

// Bytes encodes a STORAGE_PROPERTY_QUERY, 12 bytes.
func (q StoragePropertyQuery) Bytes() []byte { return cstruct.Encode(q) }

const (
	sizeofStorageDescriptorHeader = 8
	maxDescriptor                 = 1 << 20
)

// DescriptorSize returns the total size, to be asked for next, of the descriptor that begins with this
// STORAGE_DESCRIPTOR_HEADER of 8 bytes. A size below 8 bytes or above 1 MiB is an error.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-storage_descriptor_header
func DescriptorSize(header []byte) (size uint32, err error) {
	b, err := cstruct.Need("STORAGE_DESCRIPTOR_HEADER", header, sizeofStorageDescriptorHeader)
	if err != nil {
		return 0, err
	}
	size = b.U32(4) // Size
	if size < sizeofStorageDescriptorHeader || size > maxDescriptor {
		return 0, cstruct.Malformed("STORAGE_DESCRIPTOR_HEADER", "size %d", size)
	}
	return size, nil
}

// descriptor returns in, cut to the size in its header.
func descriptor(structure string, in []byte, fixed int) (cstruct.Buffer, error) {
	if _, err := cstruct.Need(structure, in, fixed); err != nil {
		return nil, err
	}
	size, err := DescriptorSize(in)
	if err != nil {
		return nil, err
	}
	if int(size) < fixed || int(size) > len(in) {
		return nil, cstruct.Malformed(structure, "its header says %d bytes, not %d to %d", size, fixed, len(in))
	}
	return in[:size], nil
}

// Bus types (STORAGE_BUS_TYPE).
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddstor/ne-ntddstor-storage_bus_type
const (
	BusTypeScsi              = 1
	BusTypeAta               = 3
	BusTypeFibre             = 6
	BusTypeUsb               = 7
	BusTypeRAID              = 8
	BusTypeiScsi             = 9
	BusTypeSas               = 10
	BusTypeSata              = 11
	BusTypeVirtual           = 14
	BusTypeFileBackedVirtual = 15
	BusTypeSpaces            = 16
	BusTypeNvme              = 17
)

// StorageDevice is STORAGE_DEVICE_DESCRIPTOR, as far as it is used here. The strings are the device's bytes up to the
// NUL, not trimmed and perhaps not UTF-8 (see DeviceText); a string that the device does not have is empty.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-storage_device_descriptor
type StorageDevice struct {
	BusType      uint32
	ProductID    string
	SerialNumber string
}

const (
	offsetRawProperties = 36         // RawDeviceProperties
	absentString        = 0xFFFFFFFF // 0 means absent, too
)

// ParseStorageDevice decodes the answer to StorageDeviceProperty. A string cut off by the descriptor's end is accepted.
func ParseStorageDevice(in []byte) (StorageDevice, error) {
	const structure = "STORAGE_DEVICE_DESCRIPTOR"
	b, err := descriptor(structure, in, offsetRawProperties)
	if err != nil {
		return StorageDevice{}, err
	}
	d := StorageDevice{BusType: b.U32(28)}
	for _, s := range []struct {
		at   int
		name string
		text *string
	}{
		{16, "ProductIdOffset", &d.ProductID},
		{24, "SerialNumberOffset", &d.SerialNumber},
	} {
		offset := b.U32(s.at)
		if offset == 0 || offset == absentString {
			continue
		}
		if offset < offsetRawProperties || int64(offset) >= int64(len(b)) {
			return StorageDevice{}, cstruct.Malformed(structure, "%s %d outside 36..%d", s.name, offset, len(b))
		}
		text, _, _ := bytes.Cut(b[offset:], []byte{0})
		*s.text = string(text)
	}
	return d, nil
}

// DeviceText makes a string that a device reported fit for display and for messages: text that is not UTF-8 is read as
// Latin-1, so that different strings stay different and one odd device cannot spoil a whole listing.
func DeviceText(raw string) string {
	if utf8.ValidString(raw) {
		return raw
	}
	text := make([]rune, len(raw))
	for i := range len(raw) {
		text[i] = rune(raw[i])
	}
	return string(text)
}

// SCSIAddress is SCSI_ADDRESS: where a disk is attached.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddscsi/ns-ntddscsi-_scsi_address
type SCSIAddress struct {
	PortNumber uint8 // the adapter
	PathID     uint8 // the bus
	TargetID   uint8
	LUN        uint8
}

// SizeofSCSIAddress is the size of a SCSI_ADDRESS in bytes.
const SizeofSCSIAddress = 8

// ParseSCSIAddress decodes the output of IOCTL_SCSI_GET_ADDRESS.
func ParseSCSIAddress(in []byte) (SCSIAddress, error) {
	b, err := cstruct.Need("SCSI_ADDRESS", in, SizeofSCSIAddress)
	if err != nil {
		return SCSIAddress{}, err
	}
	return SCSIAddress{PortNumber: b[4], PathID: b[5], TargetID: b[6], LUN: b[7]}, nil
}

// StorageAdapter is STORAGE_ADAPTER_DESCRIPTOR: what a storage adapter tells about itself, as far as it is used here.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-storage_adapter_descriptor
type StorageAdapter struct {
	BusType uint8 // BusTypeScsi and so on
}

// leastStorageAdapter is the size of a STORAGE_ADAPTER_DESCRIPTOR in bytes, whose end old drivers leave out.
const leastStorageAdapter = 25

// ParseStorageAdapter decodes the answer to StorageAdapterProperty.
func ParseStorageAdapter(in []byte) (StorageAdapter, error) {
	b, err := descriptor("STORAGE_ADAPTER_DESCRIPTOR", in, leastStorageAdapter)
	if err != nil {
		return StorageAdapter{}, err
	}
	return StorageAdapter{BusType: b[24]}, nil
}
