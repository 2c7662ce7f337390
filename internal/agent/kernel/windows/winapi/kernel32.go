// SPDX-License-Identifier: Apache-2.0

//go:build windows

package winapi

// GetSystemFirmwareTable copies a table of the firmware into a buffer and returns its size in bytes, 0 on failure. If
// the table is larger than the buffer, nothing is copied.
// https://learn.microsoft.com/windows/win32/api/sysinfoapi/nf-sysinfoapi-getsystemfirmwaretable
//sys	GetSystemFirmwareTable(provider uint32, id uint32, buffer *byte, size uint32) (written uint32, err error) = kernel32.GetSystemFirmwareTable
