// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// storageResult returns the error of a method of the storage management API, nil for 0, or that of calling it. What
// formatting may return becomes the Win32 code of the same meaning. Any other value keeps its number, unless that is
// small, one of CIM's, and would read as another Win32 code.
// https://learn.microsoft.com/windows-hardware/drivers/storage/storage-management-api-common-return-codes
func storageResult(returned uint32, err error) error {
	if err != nil {
		return err
	}
	switch returned {
	case 0:
		return nil
	case 1, 7, 43001, 43002, 43004: // unsupported: by the provider, from 32 bits, file system, quickly, UDF version
		return win32.ERROR_NOT_SUPPORTED
	case 3:
		return win32.ERROR_TIMEOUT
	case 5, 43000, 43003, 43005: // parameter, cluster size, too many clusters, no multiple of the sector size
		return win32.ERROR_INVALID_PARAMETER
	case 6, 4099: // in use, busy
		return win32.ERROR_BUSY
	case 4096: // a job was started, which was not asked for
		return win32.ERROR_IO_PENDING
	case 40000:
		return win32.ERROR_DISK_FULL
	case 40001, 42010: // access, a system or critical partition
		return win32.ERROR_ACCESS_DENIED
	case 40002:
		return win32.ERROR_NO_SYSTEM_RESOURCES
	case 40004, 40007: // input or output, the device
		return win32.ERROR_IO_DEVICE
	case 40018: // owned by the failover cluster
		return win32.ERROR_DEVICE_IN_USE
	case 41002, 43006: // disk, drive
		return win32.ERROR_WRITE_PROTECT
	case 8: // object not found
		return kernel.StorageNotInCache
	}
	if returned < 4096 {
		return win32.ERROR_GEN_FAILURE
	}
	return win32.Errno(returned)
}

// sameVolume reports whether two names, of which a volume may have several, are equal but for case, or of one device.
// https://learn.microsoft.com/windows/win32/fileio/naming-a-volume
func sameVolume(a, b string, deviceOf func(volumeName string) string) bool {
	if strings.EqualFold(a, b) {
		return true
	}
	device := deviceOf(a)
	return device != "" && strings.EqualFold(device, deviceOf(b))
}
