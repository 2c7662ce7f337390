// SPDX-License-Identifier: Apache-2.0

package win32

// StorageAdapter is STORAGE_ADAPTER_DESCRIPTOR: what a storage adapter tells about itself, as far as it is used here.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-storage_adapter_descriptor
type StorageAdapter struct {
	BusType uint8 // BusTypeScsi and so on
}

// Sizes of a STORAGE_ADAPTER_DESCRIPTOR in bytes.
const (
	SizeofStorageAdapter = 32
	leastStorageAdapter  = 25 // old drivers leave out the end
)

// ParseStorageAdapter decodes the answer to StorageAdapterProperty.
func ParseStorageAdapter(in []byte) (StorageAdapter, error) {
	b, err := descriptor("STORAGE_ADAPTER_DESCRIPTOR", in, leastStorageAdapter)
	if err != nil {
		return StorageAdapter{}, err
	}
	return StorageAdapter{BusType: b[24]}, nil
}
