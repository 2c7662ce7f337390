// SPDX-License-Identifier: Apache-2.0

package kernel

// Registry reads the machine's configuration.
type Registry interface {
	// RegistryStrings returns the strings of a value of a key below HKEY_LOCAL_MACHINE: those of a REG_MULTI_SZ, or the
	// one of a REG_SZ or REG_EXPAND_SZ, with environment variables expanded (RegQueryValueExW, ExpandEnvironmentStringsW).
	// There are none if there is no such key or value.
	RegistryStrings(key, value string) ([]string, error)
}
