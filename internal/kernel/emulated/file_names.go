// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"runtime"
	"strings"
)

// Hosts other than Windows have file names that Windows cannot have. Characters that it forbids are shown as
// characters of the private use area, as in the Windows Subsystem for Linux, so that such a file can be seen and
// deleted.
const privateUse = 0xF000

func isForbidden(r rune) bool { return r > 0 && r < 0x20 || strings.ContainsRune(`<>:"\|?*`, r) }

// windowsName returns the Windows form of a host name.
func windowsName(host string) string {
	if runtime.GOOS == "windows" || !strings.ContainsFunc(host, isForbidden) {
		return host
	}
	return strings.Map(func(r rune) rune {
		if isForbidden(r) {
			return r + privateUse
		}
		return r
	}, host)
}

// hostName returns the host's form of a Windows name.
func hostName(name string) string {
	mapped := func(r rune) bool { return isForbidden(r - privateUse) }
	if runtime.GOOS == "windows" || !strings.ContainsFunc(name, mapped) {
		return name
	}
	return strings.Map(func(r rune) rune {
		if mapped(r) {
			return r - privateUse
		}
		return r
	}, name)
}

// windowsNames maps the names of a path.
func windowsNames(host []string) []string {
	names := make([]string, len(host))
	for i, name := range host {
		names[i] = windowsName(name)
	}
	return names
}
