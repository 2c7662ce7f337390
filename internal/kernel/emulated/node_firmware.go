// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// SystemFirmwareTable returns the node's SMBIOS: a BIOS, and a system with the scenario's serial number.
func (n *Node) SystemFirmwareTable(provider, _ uint32) ([]byte, error) {
	if provider != kernel.ProviderSMBIOS {
		return nil, failed("GetSystemFirmwareTable", "", win32.ERROR_INVALID_FUNCTION)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return smbios(n.state.SystemSerial), nil
}

func smbios(serial string) []byte {
	system := win32.SMBIOSStructure{
		Type: 1, Handle: 1, Strings: []string{"csi-proxy", "Emulated Windows node"},
		// Manufacturer 1, product 2, version none, serial number none; UUID not set; wake-up type unknown.
		Data: append([]byte{1, 2, 0, 0}, append(make([]byte, 16), 2, 0, 0)...),
	}
	if strings.TrimSpace(serial) != "" {
		system.Data[3] = 3
		system.Strings = append(system.Strings, serial)
	}
	bios := win32.SMBIOSStructure{
		Type: 0, Strings: []string{"csi-proxy"},
		// Vendor 1; version, start segment, release date and ROM size none; characteristics not supported.
		Data: []byte{1, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0},
	}
	return win32.SMBIOS{MajorVersion: 3, MinorVersion: 7, Structures: []win32.SMBIOSStructure{bios, system}}.Bytes()
}
