// SPDX-License-Identifier: Apache-2.0

package testnode

import "golang.org/x/sys/windows"

// OnWine reports whether the tests run under Wine, which also counts as Windows.
func OnWine() bool {
	return windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}
