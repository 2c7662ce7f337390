// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"testing"

	"golang.org/x/sys/windows"
)

func onWine() bool {
	return windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}

// sgdisk has no counterpart on Windows: the images are checked on other hosts, where they are the same.
func sgdisk(*testing.T, string) {}
