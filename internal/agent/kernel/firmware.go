// SPDX-License-Identifier: Apache-2.0

package kernel

// Firmware gives access to the tables that the machine's firmware left in memory.
type Firmware interface {
	// SystemFirmwareTable returns a table of a provider (GetSystemFirmwareTable). ERROR_INVALID_FUNCTION: no such
	// provider.
	SystemFirmwareTable(provider, id uint32) ([]byte, error)
}

// ProviderSMBIOS is the provider 'RSMB', whose only table, 0, win32.ParseSMBIOS decodes.
const ProviderSMBIOS uint32 = 0x52534D42
