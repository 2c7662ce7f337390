// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows/wmi"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
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
		return true, storageResult(i.Call("Format", in))
	})
	if err == nil && !found {
		err = kernel.StorageNotInCache
	}
	return failure(volumeClass+".Format", volumeName, err)
}

// volumeDevice returns the device, \Device\HarddiskVolumeN, of a volume name \\?\Volume{GUID}\, or "".
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
// https://learn.microsoft.com/windows-hardware/drivers/storage/msft-storagesetting-updatehoststoragecache
func (k Kernel) UpdateStorageCache() error {
	const method = "UpdateHostStorageCache"
	return failure(settingClass+"."+method, "",
		storageResult(k.storage.CallClass(storageNamespace, settingClass, method, nil)))
}

// ResizePartition calls MSFT_Partition.Resize. A size is a uint64, which travels as decimal digits.
// https://learn.microsoft.com/windows-hardware/drivers/storage/msft-partition-resize
func (k Kernel) ResizePartition(diskNumber uint32, offset, sizeBytes int64) error {
	return k.callPartition("Resize", diskNumber, offset, wmi.Parameters{"Size": strconv.FormatInt(sizeBytes, 10)})
}

// OnlinePartition calls MSFT_Partition.Online.
// https://learn.microsoft.com/windows-hardware/drivers/storage/msft-partition-online
func (k Kernel) OnlinePartition(diskNumber uint32, offset int64) error {
	return k.callPartition("Online", diskNumber, offset, nil)
}

func (k Kernel) callPartition(method string, diskNumber uint32, offset int64, in wmi.Parameters) error {
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
		return true, storageResult(i.Call(method, in))
	})
	if err == nil && !found {
		err = win32.ERROR_NOT_FOUND
	}
	return failure(partitionClass+"."+method, object, err)
}

// The SMB client's namespace and class in WMI. Remove needs the instance's path, which comes with SELECT * alone.
const (
	smbNamespace = `ROOT\Microsoft\Windows\Smb`
	smbClass     = "MSFT_SmbGlobalMapping"
	smbQuery     = "SELECT * FROM MSFT_SmbGlobalMapping"
)

// SMBGlobalMappings reads the instances of MSFT_SmbGlobalMapping.
// https://learn.microsoft.com/previous-versions/windows/desktop/smb/msft-smbglobalmapping
func (k Kernel) SMBGlobalMappings() ([]kernel.SMBGlobalMapping, error) {
	var mappings []kernel.SMBGlobalMapping
	err := k.mappings.Each(smbNamespace, smbQuery, func(i wmi.Instance) (done bool, err error) {
		path, err := i.String("RemotePath")
		if err != nil {
			return false, err
		}
		status, err := i.Uint32("Status")
		mappings = append(mappings, kernel.SMBGlobalMapping{RemotePath: path, Status: status})
		return false, err
	})
	return mappings, failure(smbClass, "", err)
}

// CreateSMBGlobalMapping calls MSFT_SmbGlobalMapping.Create. The credential is a string there, which stays in memory.
// https://learn.microsoft.com/previous-versions/windows/desktop/smb/create-msft-smbglobalmapping
func (k Kernel) CreateSMBGlobalMapping(remotePath, userName string, password kernel.Secret, requirePrivacy bool) error {
	credential := win32.SMBCredential(userName, password)
	returned, err := k.maps.CallClass(smbNamespace, smbClass, "Create", wmi.Parameters{
		"RemotePath": remotePath, "Credential": string(credential), "RequirePrivacy": requirePrivacy,
	})
	return failure(smbClass+".Create", remotePath, smbResult(returned, err))
}

// RemoveSMBGlobalMapping calls MSFT_SmbGlobalMapping.Remove.
// https://learn.microsoft.com/previous-versions/windows/desktop/smb/remove-msft-smbglobalmapping
func (k Kernel) RemoveSMBGlobalMapping(remotePath string) error {
	found := false
	err := k.unmaps.Each(smbNamespace, smbQuery, func(i wmi.Instance) (done bool, err error) {
		path, err := i.String("RemotePath")
		if err != nil || winpath.Fold(strings.TrimSuffix(path, `\`)) != winpath.Fold(remotePath) {
			return false, err
		}
		found = true
		return false, smbResult(i.Call("Remove", wmi.Parameters{"Force": true}))
	})
	if err == nil && !found {
		err = win32.ERROR_NOT_CONNECTED
	}
	return failure(smbClass+".Remove", remotePath, err)
}

// smbResult returns the error of a method of the SMB client, whose return values are Win32 codes, some as HRESULTs.
func smbResult(returned uint32, err error) error {
	if err != nil || returned == 0 {
		return err
	}
	return wmi.Code(returned)
}
