// SPDX-License-Identifier: Apache-2.0

//go:build windows

package winapi

// GetSystemFirmwareTable copies a table of the firmware, if the buffer holds it, and returns its size, 0 on failure.
// https://learn.microsoft.com/windows/win32/api/sysinfoapi/nf-sysinfoapi-getsystemfirmwaretable
//sys	GetSystemFirmwareTable(provider uint32, id uint32, buffer *byte, size uint32) (written uint32, err error) = kernel32.GetSystemFirmwareTable
