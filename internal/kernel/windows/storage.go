// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel/windows/wmi"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// The storage management API in WMI. Windows has no other documented interface for formatting.
const (
	storageNamespace = `ROOT\Microsoft\Windows\Storage`
	volumeClass      = "MSFT_Volume"
	volumeQuery      = "SELECT * FROM MSFT_Volume"
	settingClass     = "MSFT_StorageSetting"
	partitionClass   = "MSFT_Partition"
	partitionQuery   = "SELECT * FROM MSFT_Partition"
)

// FormatVolume calls MSFT_Volume.Format, quick and forced, and returns when the volume is formatted. The other parameters
// are left out and have their defaults: a cluster size that depends on the volume's size, no compression. The provider
// answers from a cache that may not have a new volume yet; if so, it is told once to refresh the cache, and the volume is
// looked for again whatever the result. Format itself is never called twice.
//
// https://learn.microsoft.com/windows-hardware/drivers/storage/msft-volume
// https://learn.microsoft.com/windows-hardware/drivers/storage/format-msft-volume
func (k Kernel) FormatVolume(volumeName, fileSystem string) error {
	const function = volumeClass + ".Format"
	in := wmi.Parameters{"FileSystem": fileSystem, "FileSystemLabel": "", "Full": false, "Force": true}
	found, err := k.onVolume(volumeName, "Format", in)
	if err == nil && !found {
		looked := k.UpdateStorageCache()
		found, err = k.onVolume(volumeName, "Format", in)
		if err == nil && !found && looked != nil {
			return looked
		}
	}
	if err == nil && !found {
		err = win32.ERROR_NOT_FOUND
	}
	return failure(function, volumeName, err)
}

// onVolume invokes a method of the instance of MSFT_Volume with a path \\?\Volume{GUID}\, if there is one.
func (k Kernel) onVolume(volumeName, method string, in wmi.Parameters) (found bool, err error) {
	err = k.formats.Each(storageNamespace, volumeQuery, func(i wmi.Instance) (done bool, err error) {
		path, err := i.String("Path")
		if err != nil || !strings.EqualFold(path, volumeName) {
			return false, err
		}
		found = true
		returned, err := i.Call(method, in)
		if err == nil {
			err = storageResult(returned)
		}
		return true, err
	})
	return found, err
}

// UpdateStorageCache calls MSFT_StorageSetting.UpdateHostStorageCache.
//
// https://learn.microsoft.com/windows-hardware/drivers/storage/msft-storagesetting-updatehoststoragecache
func (k Kernel) UpdateStorageCache() error {
	const method = "UpdateHostStorageCache"
	returned, err := k.storage.CallClass(storageNamespace, settingClass, method, nil)
	if err == nil {
		err = storageResult(returned)
	}
	return failure(settingClass+"."+method, "", err)
}

// ResizePartition calls MSFT_Partition.Resize. A size is a uint64, which travels as decimal digits.
//
// https://learn.microsoft.com/windows-hardware/drivers/storage/msft-partition-resize
func (k Kernel) ResizePartition(diskNumber uint32, offset, sizeBytes int64) error {
	const function = partitionClass + ".Resize"
	object := fmt.Sprintf("disk %d, offset %d", diskNumber, offset)
	found := false
	err := k.storage.Each(storageNamespace, partitionQuery, func(i wmi.Instance) (done bool, err error) {
		disk, err := i.Uint32("DiskNumber")
		if err != nil || disk != diskNumber {
			return false, err
		}
		at, err := i.String("Offset")
		if err != nil || at != strconv.FormatInt(offset, 10) {
			return false, err
		}
		found = true
		returned, err := i.Call("Resize", wmi.Parameters{"Size": strconv.FormatInt(sizeBytes, 10)})
		if err == nil {
			err = storageResult(returned)
		}
		return true, err
	})
	if err == nil && !found {
		err = win32.ERROR_NOT_FOUND
	}
	return failure(function, object, err)
}
