// SPDX-License-Identifier: Apache-2.0

package win32

import "github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"

// StorageUniqueID is STORAGE_DEVICE_UNIQUE_IDENTIFIER: in one answer what StorageDeviceIdProperty and
// StorageDeviceProperty answer each. The class driver of disks puts it together from these two; of the second only if
// that has a serial number.
//
// https://learn.microsoft.com/windows-hardware/drivers/ddi/storduid/ns-storduid-_storage_device_unique_identifier
// https://github.com/microsoft/Windows-driver-samples, storage/class/classpnp/src/utils.c, ClasspDuidQueryProperty
type StorageUniqueID struct {
	DeviceID []byte // a STORAGE_DEVICE_ID_DESCRIPTOR; nil: there is none
	Device   []byte // a STORAGE_DEVICE_DESCRIPTOR; nil: there is none
}

// SizeofStorageUniqueID is the size of a STORAGE_DEVICE_UNIQUE_IDENTIFIER in bytes.
const SizeofStorageUniqueID = 20

// ParseStorageUniqueID decodes the answer to StorageDeviceUniqueIdProperty. The descriptors are cut to their sizes;
// what they hold is left to ParseStorageDeviceID and ParseStorageDevice.
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
