// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows/wmi"
)

// formatVolume has Windows' storage provider format a volume as NTFS, and returns the return value: which of several
// numbers with one Win32 code it was.
// https://learn.microsoft.com/windows-hardware/drivers/storage/format-msft-volume
func formatVolume(volume string) (returned string, err error) {
	returned = "not listed"
	err = wmiClient.Each(`ROOT\Microsoft\Windows\Storage`, "SELECT * FROM MSFT_Volume",
		func(object wmi.Instance) (done bool, err error) {
			path, err := object.String("Path")
			if err != nil || !strings.EqualFold(path, volume) {
				return false, err
			}
			number, err := object.Call("Format", wmi.Parameters{"FileSystem": "NTFS", "Full": false, "Force": true})
			returned = fmt.Sprint(number)
			return true, err
		})
	return returned, err
}

// storageDisks returns the disks as Windows' own tools show them.
// https://learn.microsoft.com/windows-hardware/drivers/storage/msft-disk
func storageDisks() (json.RawMessage, error) {
	out, err := powershell(`ConvertTo-Json @(Get-CimInstance -Namespace ROOT/Microsoft/Windows/Storage MSFT_Disk |
		Select-Object Number, BusType, Location, SerialNumber, UniqueId, UniqueIdFormat, IsBoot, IsSystem, BootFromDisk, Path)`)
	return json.RawMessage(out), err
}
