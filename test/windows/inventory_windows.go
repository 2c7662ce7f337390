// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"
	"strings"

	"github.com/go-ole/go-ole"
)

// What Windows' own providers say, as witnesses beside the calls that the agent makes.

// BIOSSerial returns the serial number of Win32_BIOS. Its provider, cimwin32.dll, reads the SMBIOS tables itself, while
// the agent reads them by GetSystemFirmwareTable: they have only the tables in common. The registry has no serial
// number (HARDWARE\DESCRIPTION\System\BIOS), and mssmbios' copy of the tables would need our own parser.
// https://learn.microsoft.com/windows/win32/cimwin32prov/win32-bios
func BIOSSerial() (serial string, err error) {
	err = withWMI(`ROOT\CIMV2`, func(services *ole.IDispatch) error {
		return each(services, "SELECT SerialNumber FROM Win32_BIOS", func(bios *ole.IDispatch) error {
			serial, err = text(bios, "SerialNumber")
			return err
		})
	})
	return strings.TrimSpace(serial), err
}

// formatVolume has Windows' storage provider format a volume as NTFS, and returns the return value: which of several
// numbers with one Win32 code it was.
// https://learn.microsoft.com/windows-hardware/drivers/storage/format-msft-volume
func formatVolume(volume string) (returned string, err error) {
	returned = "not listed"
	err = withWMI(`ROOT\Microsoft\Windows\Storage`, func(services *ole.IDispatch) error {
		return each(services, "SELECT * FROM MSFT_Volume", func(object *ole.IDispatch) error {
			path, err := text(object, "Path")
			if err != nil || !strings.EqualFold(path, volume) {
				return err
			}
			returned, err = returnValue(object, "Format", map[string]any{"FileSystem": "NTFS", "Full": false, "Force": true})
			return err
		})
	})
	return returned, err
}

// storageDisks returns the disks as Windows' own tools show them, by number.
// https://learn.microsoft.com/windows-hardware/drivers/storage/msft-disk
func storageDisks() (map[string]map[string]string, error) {
	disks := map[string]map[string]string{}
	err := withWMI(`ROOT\Microsoft\Windows\Storage`, func(services *ole.IDispatch) error {
		return each(services, "SELECT * FROM MSFT_Disk", func(disk *ole.IDispatch) error {
			found := map[string]string{}
			for _, property := range []string{
				"Number", "BusType", "Location", "SerialNumber", "UniqueId", "UniqueIdFormat", "IsBoot", "IsSystem",
				"BootFromDisk", "Path",
			} {
				value, err := text(disk, property)
				if err != nil {
					return err
				}
				found[property] = fmt.Sprintf("%q", value)
			}
			disks[found["Number"]] = found
			return nil
		})
	})
	return disks, err
}
