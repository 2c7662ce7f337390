// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"errors"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows/winapi"
)

// SystemWindowsDirectory calls GetSystemWindowsDirectoryW.
// https://learn.microsoft.com/windows/win32/api/sysinfoapi/nf-sysinfoapi-getsystemwindowsdirectoryw
func (Kernel) SystemWindowsDirectory() (string, error) {
	dir, err := windows.GetSystemWindowsDirectory()
	return dir, failure("GetSystemWindowsDirectoryW", "", err)
}

// SystemFirmwareTable calls GetSystemFirmwareTable with a buffer of the size that it asks for.
func (Kernel) SystemFirmwareTable(provider, id uint32) ([]byte, error) {
	return filled("GetSystemFirmwareTable", "", 1, func(n *uint32, buffer *byte) (err error) {
		*n, err = winapi.GetSystemFirmwareTable(provider, id, buffer, *n)
		return err
	})
}

// RegistryStrings calls RegOpenKeyExW, RegQueryValueExW and, for REG_EXPAND_SZ, ExpandEnvironmentStringsW.
// https://learn.microsoft.com/windows/win32/api/winreg/nf-winreg-regqueryvalueexw
func (Kernel) RegistryStrings(key, value string) ([]string, error) {
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, key, registry.QUERY_VALUE)
	if errors.Is(err, registry.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, failure("RegOpenKeyExW", key, err)
	}
	defer func() { _ = k.Close() }()
	texts, err := registryStrings(k, value)
	if errors.Is(err, registry.ErrNotExist) {
		return nil, nil
	}
	return texts, failure("RegQueryValueExW", key+`\`+value, err)
}

func registryStrings(k registry.Key, value string) ([]string, error) {
	_, kind, err := k.GetValue(value, nil)
	if err != nil {
		return nil, err
	}
	if kind == registry.MULTI_SZ {
		texts, _, err := k.GetStringsValue(value)
		return texts, err
	}
	text, kind, err := k.GetStringValue(value) // any other kind is an error
	if err == nil && kind == registry.EXPAND_SZ {
		text, err = registry.ExpandString(text)
	}
	return []string{text}, err
}
