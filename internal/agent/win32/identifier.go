// SPDX-License-Identifier: Apache-2.0

package win32

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
)

// The encodings of a StorageIdentifier (STORAGE_IDENTIFIER_CODE_SET).
const (
	StorageIdCodeSetBinary = 1
	StorageIdCodeSetAscii  = 2
	StorageIdCodeSetUtf8   = 3
)

// The objects that a StorageIdentifier can name (STORAGE_ASSOCIATION_TYPE).
const (
	StorageIdAssocDevice = 0
	StorageIdAssocPort   = 1
	StorageIdAssocTarget = 2
)

// StorageIdentifier is STORAGE_IDENTIFIER, one designator of SCSI's vital product data page 83h.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddstor/ns-ntddstor-_storage_identifier
type StorageIdentifier struct {
	CodeSet     uint32 // StorageIdCodeSetBinary and so on
	Type        uint32 // STORAGE_IDENTIFIER_TYPE, as in SCSI's SPC
	Association uint32 // StorageIdAssocDevice and so on
	Identifier  []byte
}

// StorageDeviceID is STORAGE_DEVICE_ID_DESCRIPTOR: the identifiers of a device in the device's order.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddstor/ns-ntddstor-_storage_device_id_descriptor
type StorageDeviceID struct {
	Identifiers []StorageIdentifier
}

const (
	offsetIdentifiers = 12 // STORAGE_DEVICE_ID_DESCRIPTOR.Identifiers
	offsetIdentifier  = 16 // STORAGE_IDENTIFIER.Identifier
)

// ParseStorageDeviceID decodes the answer to StorageDeviceIdProperty.
func ParseStorageDeviceID(in []byte) (StorageDeviceID, error) {
	const structure = "STORAGE_DEVICE_ID_DESCRIPTOR"
	b, err := descriptor(structure, in, offsetIdentifiers)
	if err != nil {
		return StorageDeviceID{}, err
	}
	var d StorageDeviceID
	count := b.U32(8) // NumberOfIdentifiers
	rest := b[offsetIdentifiers:]
	for i := range count {
		if len(rest) < offsetIdentifier {
			return StorageDeviceID{}, cstruct.Malformed(structure,
				"identifier %d of %d begins %d bytes before the end", i, count, len(rest))
		}
		size, next := int(rest.U16(8)), int(rest.U16(10)) // IdentifierSize, NextOffset
		if size > len(rest)-offsetIdentifier {
			return StorageDeviceID{}, cstruct.Malformed(structure, "identifier %d of %d bytes, %d left", i, size,
				len(rest)-offsetIdentifier)
		}
		d.Identifiers = append(d.Identifiers, StorageIdentifier{
			CodeSet: rest.U32(0), Type: rest.U32(4), Association: rest.U32(12),
			Identifier: slices.Clone(rest[offsetIdentifier : offsetIdentifier+size]),
		})
		if next == 0 {
			break
		}
		if next < offsetIdentifier || next > len(rest) {
			return StorageDeviceID{}, cstruct.Malformed(structure, "identifier %d: next at %d, %d left", i, next, len(rest))
		}
		rest = rest[next:]
	}
	return d, nil
}

// Page83 returns the text that drivers compare: the first identifier of the device itself that is binary, as lower-case
// hexadecimal digits, or ASCII, with its blanks (see DeviceText). The text is empty if there is none. White space
// counts as none, since one driver takes the text's last word without looking whether there is one.
func (d StorageDeviceID) Page83() string {
	for _, id := range d.Identifiers {
		if id.Association != StorageIdAssocDevice {
			continue
		}
		switch id.CodeSet {
		case StorageIdCodeSetBinary:
			return hex.EncodeToString(id.Identifier)
		case StorageIdCodeSetAscii:
			text := DeviceText(string(id.Identifier))
			if strings.TrimSpace(text) == "" {
				return ""
			}
			return text
		}
	}
	return ""
}

// StorageUniqueID is STORAGE_DEVICE_UNIQUE_IDENTIFIER: the answers to StorageDeviceIdProperty and StorageDeviceProperty
// in one. The class driver of disks puts it together; of the second only if that has a serial number.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/storduid/ns-storduid-_storage_device_unique_identifier
// https://github.com/microsoft/Windows-driver-samples, storage/class/classpnp/src/utils.c, ClasspDuidQueryProperty
type StorageUniqueID struct {
	DeviceID []byte // a STORAGE_DEVICE_ID_DESCRIPTOR; nil: there is none
	Device   []byte // a STORAGE_DEVICE_DESCRIPTOR; nil: there is none
}

// SizeofStorageUniqueID is the size of a STORAGE_DEVICE_UNIQUE_IDENTIFIER in bytes.
const SizeofStorageUniqueID = 20

// ParseStorageUniqueID decodes the answer to StorageDeviceUniqueIdProperty, its descriptors cut to their sizes.
func ParseStorageUniqueID(in []byte) (StorageUniqueID, error) {
	const structure = "STORAGE_DEVICE_UNIQUE_IDENTIFIER"
	b, err := descriptor(structure, in, SizeofStorageUniqueID)
	if err != nil {
		return StorageUniqueID{}, err
	}
	var u StorageUniqueID
	for _, part := range []struct {
		at         int
		name       string
		descriptor *[]byte
	}{
		{8, "StorageDeviceIdOffset", &u.DeviceID},
		{12, "StorageDeviceOffset", &u.Device},
	} {
		offset := b.U32(part.at)
		if offset == 0 {
			continue
		}
		if offset < SizeofStorageUniqueID || int64(offset) >= int64(len(b)) {
			return StorageUniqueID{}, cstruct.Malformed(structure, "%s %d outside %d..%d", part.name, offset,
				SizeofStorageUniqueID, len(b))
		}
		inner, err := descriptor(structure+"."+part.name, b[offset:], sizeofStorageDescriptorHeader)
		if err != nil {
			return StorageUniqueID{}, err
		}
		*part.descriptor = inner
	}
	return u, nil
}
