// SPDX-License-Identifier: Apache-2.0

package deviceside

import (
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
)

// Sizes of the structures in bytes.
const (
	SizeofStorageDevice   = 40 // with padding
	SizeofStorageDeviceID = 16 // with the first byte of Identifiers and padding
	SizeofStorageAdapter  = 32
)

// StorageDevice is STORAGE_DEVICE_DESCRIPTOR.
type StorageDevice struct {
	BusType         uint32
	VendorID        string
	ProductID       string
	ProductRevision string
	SerialNumber    string
}

// Bytes encodes a STORAGE_DEVICE_DESCRIPTOR, 40 bytes, followed by the strings.
func (d StorageDevice) Bytes() []byte {
	b := make(cstruct.Buffer, SizeofStorageDevice)
	b.PutU32(0, SizeofStorageDevice) // Version
	b.PutU32(28, d.BusType)          // BusType; RawPropertiesLength@32 stays zero
	for _, s := range []struct {
		at   int
		text string
	}{
		{12, d.VendorID},        // VendorIdOffset
		{16, d.ProductID},       // ProductIdOffset
		{20, d.ProductRevision}, // ProductRevisionOffset
		{24, d.SerialNumber},    // SerialNumberOffset
	} {
		if s.text != "" {
			b.PutU32(s.at, uint32(len(b)))
			b = append(append(b, s.text...), 0)
		}
	}
	b.PutU32(4, uint32(len(b))) // Size
	return b
}

// The types of a STORAGE_IDENTIFIER (STORAGE_IDENTIFIER_TYPE, as in SCSI's SPC).
const (
	StorageIdTypeVendorSpecific = 0
	StorageIdTypeVendorId       = 1 // T10
	StorageIdTypeEUI64          = 2
	StorageIdTypeFCPHName       = 3 // NAA
	StorageIdTypeScsiNameString = 8
)

const (
	offsetIdentifiers = 12 // STORAGE_DEVICE_ID_DESCRIPTOR.Identifiers
	offsetIdentifier  = 16 // STORAGE_IDENTIFIER.Identifier
	maxIdentifier     = 0xFFFC - offsetIdentifier
)

// StorageDeviceID encodes a STORAGE_DEVICE_ID_DESCRIPTOR. Identifiers begin at multiples of 4 bytes from the first one.
// An identifier of more bytes than NextOffset can skip, far more than the 255 that SCSI allows, is cut.
func StorageDeviceID(d win32.StorageDeviceID) []byte {
	b := make(cstruct.Buffer, offsetIdentifiers)
	b.PutU32(0, SizeofStorageDeviceID)      // Version
	b.PutU32(8, uint32(len(d.Identifiers))) // NumberOfIdentifiers
	for i, id := range d.Identifiers {
		value := id.Identifier[:min(len(id.Identifier), maxIdentifier)]
		size := align(offsetIdentifier+len(value), 4)
		e := make(cstruct.Buffer, size)
		e.PutU32(0, id.CodeSet)         // CodeSet
		e.PutU32(4, id.Type)            // Type
		e.PutU16(8, uint16(len(value))) // IdentifierSize
		if i < len(d.Identifiers)-1 {
			e.PutU16(10, uint16(size)) // NextOffset, from the start of this one; 0 in the last
		}
		e.PutU32(12, id.Association) // Association
		copy(e[offsetIdentifier:], value)
		b = append(b, e...)
	}
	for len(b) < SizeofStorageDeviceID {
		b = append(b, 0)
	}
	b.PutU32(4, uint32(len(b))) // Size
	return b
}

// StorageUniqueID encodes a STORAGE_DEVICE_UNIQUE_IDENTIFIER, 20 bytes, followed by the descriptors.
func StorageUniqueID(u win32.StorageUniqueID) []byte {
	b := make(cstruct.Buffer, win32.SizeofStorageUniqueID) // DriveLayoutSignatureOffset@16 stays zero
	b.PutU32(0, 1)                                         // Version, DUID_VERSION_1
	for _, part := range []struct {
		at         int
		descriptor []byte
	}{
		{8, u.DeviceID}, // StorageDeviceIdOffset
		{12, u.Device},  // StorageDeviceOffset
	} {
		if part.descriptor != nil {
			b.PutU32(part.at, uint32(len(b)))
			b = append(b, part.descriptor...)
		}
	}
	b.PutU32(4, uint32(len(b))) // Size
	return b
}

// StorageAdapter encodes a STORAGE_ADAPTER_DESCRIPTOR, 32 bytes.
func StorageAdapter(a win32.StorageAdapter) []byte {
	b := make(cstruct.Buffer, SizeofStorageAdapter)
	b.PutU32(0, SizeofStorageAdapter) // Version
	b.PutU32(4, SizeofStorageAdapter) // Size
	b[24] = a.BusType                 // BusType
	return b
}

// SCSIAddress encodes a SCSI_ADDRESS, 8 bytes.
func SCSIAddress(a win32.SCSIAddress) []byte {
	return cstruct.Encode(struct {
		Length uint32
		win32.SCSIAddress
	}{win32.SizeofSCSIAddress, a})
}

// VolumeDiskExtents encodes a VOLUME_DISK_EXTENTS, 8 bytes and 24 for each extent.
func VolumeDiskExtents(v win32.VolumeDiskExtents) []byte {
	return append(cstruct.Encode(uint64(len(v))), cstruct.Encode(v)...) // NumberOfDiskExtents with padding, Extents
}
