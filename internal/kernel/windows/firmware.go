// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel/windows/winapi"
)

// SystemFirmwareTable calls GetSystemFirmwareTable with a buffer of the size that it asks for.
//
// https://learn.microsoft.com/windows/win32/api/sysinfoapi/nf-sysinfoapi-getsystemfirmwaretable
func (Kernel) SystemFirmwareTable(provider, id uint32) ([]byte, error) {
	const function = "GetSystemFirmwareTable"
	var table []byte
	for range growRounds {
		size, err := winapi.GetSystemFirmwareTable(provider, id, start(table), uint32(len(table)))
		if err != nil {
			return nil, failure(function, "", err)
		}
		if int(size) <= len(table) {
			return table[:size], nil
		}
		table = make([]byte, size)
	}
	return nil, failure(function, "", windows.ERROR_INSUFFICIENT_BUFFER)
}
