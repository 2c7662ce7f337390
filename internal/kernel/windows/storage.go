// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
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
		looked := k.updateStorageCache()
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

// updateStorageCache calls MSFT_StorageSetting.UpdateHostStorageCache.
//
// https://learn.microsoft.com/windows-hardware/drivers/storage/msft-storagesetting-updatehoststoragecache
func (k Kernel) updateStorageCache() error {
	const method = "UpdateHostStorageCache"
	returned, err := k.storage.CallClass(storageNamespace, settingClass, method, nil)
	if err == nil {
		err = storageResult(returned)
	}
	return failure(settingClass+"."+method, "", err)
}
