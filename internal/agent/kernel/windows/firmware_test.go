// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func TestSystemFirmwareTable(t *testing.T) {
	table, err := Kernel{}.SystemFirmwareTable(kernel.ProviderSMBIOS, 0)
	must(t, err)
	smbios, err := win32.ParseSMBIOS(table)
	must(t, err)
	system := false
	for _, s := range smbios {
		system = system || s.Type == 1
	}
	if t.Logf("serial number %q", smbios.SystemSerialNumber()); !system {
		t.Errorf("SMBIOS with %d structures has no system information", len(smbios))
	}
}

func TestMissingFirmwareTable(t *testing.T) {
	if table, err := (Kernel{}).SystemFirmwareTable(0x4E4F4E45, 0); err == nil {
		t.Errorf("got %d bytes of a provider that is not there", len(table))
	}
}
