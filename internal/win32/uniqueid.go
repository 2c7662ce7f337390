// SPDX-License-Identifier: Apache-2.0

package win32

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

const sizeofStorageUniqueID = 20

// Bytes encodes a STORAGE_DEVICE_UNIQUE_IDENTIFIER, 20 bytes, followed by the descriptors.
func (u StorageUniqueID) Bytes() []byte {
	b := make(buffer, sizeofStorageUniqueID) // DriveLayoutSignatureOffset@16 stays zero
	b.putU32(0, 1)                           // Version, DUID_VERSION_1
	for _, part := range []struct {
		at         int
		descriptor []byte
	}{
		{8, u.DeviceID}, // StorageDeviceIdOffset
		{12, u.Device},  // StorageDeviceOffset
	} {
		if part.descriptor != nil {
			b.putU32(part.at, uint32(len(b)))
			b = append(b, part.descriptor...)
		}
	}
	b.putU32(4, uint32(len(b))) // Size
	return b
}

// ParseStorageUniqueID decodes the answer to StorageDeviceUniqueIdProperty. The descriptors are cut to their sizes;
// what they hold is left to ParseStorageDeviceID and ParseStorageDevice.
func ParseStorageUniqueID(in []byte) (StorageUniqueID, error) {
	const structure = "STORAGE_DEVICE_UNIQUE_IDENTIFIER"
	b, err := descriptor(structure, in, sizeofStorageUniqueID)
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
		offset := b.u32(part.at)
		if offset == 0 {
			continue
		}
		if offset < sizeofStorageUniqueID || int64(offset) >= int64(len(b)) {
			return StorageUniqueID{}, malformed(structure, "%s %d outside %d..%d", part.name, offset,
				sizeofStorageUniqueID, len(b))
		}
		inner, err := descriptor(structure+"."+part.name, b[offset:], sizeofStorageDescriptorHeader)
		if err != nil {
			return StorageUniqueID{}, err
		}
		*part.descriptor = inner
	}
	return u, nil
}
