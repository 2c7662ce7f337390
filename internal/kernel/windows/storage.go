// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
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

// FormatVolume calls MSFT_Volume.Format, quick and forced, and returns when the volume is formatted. The other
// parameters are left out and have their defaults: a cluster size that depends on the volume's size, no compression.
//
// https://learn.microsoft.com/windows-hardware/drivers/storage/msft-volume
// https://learn.microsoft.com/windows-hardware/drivers/storage/format-msft-volume
func (k Kernel) FormatVolume(volumeName, fileSystem string) error {
	in := wmi.Parameters{"FileSystem": fileSystem, "FileSystemLabel": "", "Full": false, "Force": true}
	found := false
	err := k.formats.Each(storageNamespace, volumeQuery, func(i wmi.Instance) (done bool, err error) {
		path, err := i.String("Path")
		if err != nil || !sameVolume(path, volumeName, volumeDevice) {
			return false, err
		}
		found = true
		returned, err := i.Call("Format", in)
		if err == nil {
			err = storageResult(returned)
		}
		return true, err
	})
	if err == nil && !found {
		err = kernel.StorageNotInCache
	}
	return failure(volumeClass+".Format", volumeName, err)
}

// volumeDevice returns the device, \Device\HarddiskVolumeN, of a volume name \\?\Volume{GUID}\, or "".
//
// https://learn.microsoft.com/windows/win32/fileio/displaying-volume-paths
func volumeDevice(volumeName string) string {
	name, err := windows.UTF16PtrFromString(strings.TrimSuffix(strings.TrimPrefix(volumeName, win32Prefix), `\`))
	if err != nil {
		return ""
	}
	var device [windows.MAX_PATH + 1]uint16
	if _, err := windows.QueryDosDevice(name, &device[0], uint32(len(device))); err != nil {
		return ""
	}
	return windows.UTF16ToString(device[:])
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
