// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"errors"

	"golang.org/x/sys/windows/registry"
)

// RegistryStrings calls RegOpenKeyExW, RegQueryValueExW and, for REG_EXPAND_SZ, ExpandEnvironmentStringsW.
//
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
