// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// No volume has this GUID of version 4, which was made for this test.
const missingVolume = `\\?\Volume{e0b5fbd2-0000-4000-8000-00000000d15c}\`

func TestVolumeOfC(t *testing.T) {
	k := Kernel{}
	name, err := k.VolumeNameForMountPoint(`C:\`)
	must(t, err)
	names, err := k.VolumeNames()
	must(t, err)
	if !slices.Contains(names, name) {
		t.Errorf("got %q, want %q among them", names, name)
	}
	paths, err := k.VolumePathNames(name)
	must(t, err)
	if !slices.Contains(paths, `C:\`) {
		t.Errorf("got %q, want C:\\ among them", paths)
	}

	for _, root := range []string{name, `C:\`} {
		fileSystem, err := k.VolumeInformation(root)
		must(t, err)
		if fileSystem != "NTFS" {
			t.Errorf("%s: got %q, want NTFS", root, fileSystem)
		}
	}

	total, free, err := k.DiskFreeSpace(name)
	must(t, err)
	if free == 0 || free >= total {
		t.Errorf("%d bytes of %d are free", free, total)
	}
}

func TestPlainPath(t *testing.T) {
	long := func(units int) string { return `C:\` + strings.Repeat("n", units-4) + `\` }
	for path, want := range map[string]string{
		`\\?\C:\`:                         `C:\`,
		`\\?\C:\var\lib\kubelet\mount\`:   `C:\var\lib\kubelet\mount\`,
		`\\?\C:\a b\é.x\`:                 `C:\a b\é.x\`,
		`\\?\` + long(259):                long(259),
		`\\?\` + long(260):                `\\?\` + long(260),
		`\\?\` + long(258) + "\U0001F4BE": `\\?\` + long(258) + "\U0001F4BE", // two units
		missingVolume + `mount\`:          missingVolume + `mount\`,
		`\\?\UNC\server\share\mount\`:     `\\?\UNC\server\share\mount\`,
		`\\?\C:\dot.\`:                    `\\?\C:\dot.\`,
		`\\?\C:\blank \`:                  `C:\blank \`,
		`\\?\C:\up\..\`:                   `\\?\C:\up\..\`,
		`\\?\C:`:                          `\\?\C:`,
		`C:\mount\`:                       `C:\mount\`,
		"\\\\?\\C:\\\x00\\":               "\\\\?\\C:\\\x00\\",
		"":                                "",
	} {
		if got := plainPath(path); got != want {
			t.Errorf("%q becomes %q, want %q", path, got, want)
		}
	}
	name, err := Kernel{}.VolumeNameForMountPoint(`\\?\C:\`)
	must(t, err)
	if byLetter, err := (Kernel{}).VolumeNameForMountPoint(`C:\`); err != nil || name != byLetter {
		t.Errorf("got %q, want %q (%v)", name, byLetter, err)
	}
}

func TestVolumeFailures(t *testing.T) {
	k := Kernel{}
	_, err := k.VolumePathNames(missingVolume)
	check(t, err, win32.ERROR_FILE_NOT_FOUND)
	_, err = k.VolumePathNames(`C:\`)
	check(t, err, win32.ERROR_INVALID_NAME)
	_, err = k.VolumeInformation(missingVolume)
	checkMissing(t, err)
	_, _, err = k.DiskFreeSpace(missingVolume)
	checkMissing(t, err)
	_, err = k.VolumeNameForMountPoint(t.TempDir() + `\`)
	check(t, err, win32.ERROR_NOT_A_REPARSE_POINT)
	check(t, k.SetVolumeMountPoint("C:\\\x00", missingVolume), win32.ERROR_INVALID_NAME)
	check(t, k.SetVolumeMountPoint(`C:\`, "\x00"), win32.ERROR_INVALID_NAME)
	check(t, k.DeleteVolumeMountPoint("C:\\\x00"), win32.ERROR_INVALID_NAME)
}

// checkMissing accepts both codes for a missing object: no page documents which of them a volume's root returns.
func checkMissing(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, win32.ERROR_FILE_NOT_FOUND) && !errors.Is(err, win32.ERROR_PATH_NOT_FOUND) {
		t.Errorf("got %v, want %v or %v", err, win32.ERROR_FILE_NOT_FOUND, win32.ERROR_PATH_NOT_FOUND)
	}
}
