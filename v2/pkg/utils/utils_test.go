// SPDX-License-Identifier: Apache-2.0

package utils

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// calls records what is asked of it.
type calls []string

func (c *calls) SetDiskState(disk uint32, online bool) error {
	*c = append(*c, fmt.Sprintf("%d online %t", disk, online))
	return nil
}

func (c *calls) SetDiskReadOnly(disk uint32, readOnly bool) error {
	*c = append(*c, fmt.Sprintf("%d read-only %t", disk, readOnly))
	return nil
}

// The command is that of pkg/mounter of vSphere's driver, v3.7.3.
func TestRunsDriversCommand(t *testing.T) {
	for command, want := range map[string][]string{
		fmt.Sprintf("Set-Disk -Number %d -IsReadOnly $false;Set-Disk -Number %d -IsOffline $%t", 3, 3,
			false): {"3 read-only false", "3 online true"},
		fmt.Sprintf("Set-Disk -Number %d -IsReadOnly $false;Set-Disk -Number %d -IsOffline $%t", 3, 3,
			true): {"3 read-only false", "3 online false"},
		" set-disk  -number 12 -isoffline " +
			"$True ; ": {"12 online false"},
		"Set-Disk -Number 3 -IsOffline $false; Remove-Item C:\\x": nil,
		"Set-Disk -Number 3 -IsOffline $false | Out-Null":         nil,
		"Set-Disk -Number 3 -IsOffline $env:X":                    nil,
		"New-SmbGlobalMapping -Password secret":                   nil,
	} {
		var got calls
		err := run(&got, command)
		if !slices.Equal(got, want) || errors.Is(err, errors.ErrUnsupported) != (want == nil) || err != nil &&
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: calls %q, %v; want %q", command, got, err, want)
		}
	}
}

func TestRunsNoShell(t *testing.T) {
	if _, err := RunPowershellCmd("Get-Disk"); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	if _, err := RunPowershellCmd(" ; "); err == nil {
		t.Error("nothing is done, without an error")
	}
}

func TestPaths(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	err := os.Symlink(filepath.Join(dir, "nowhere"), link)
	if err == nil {
		_, err = os.Lstat(link) // Wine reports success and makes none
	}
	if err != nil {
		t.Skipf("require symlink: %v", err)
	}
	for path, want := range map[string][2]bool{dir: {true, false}, link: {true, true},
		filepath.Join(dir, "missing"): {false, false}} {
		exists, err := PathExists(path)
		if err != nil || exists != want[0] {
			t.Errorf("%s exists: %t, %v", path, exists, err)
		}
		isLink, err := IsPathSymlink(path)
		if isLink != want[1] || (err == nil) != want[0] {
			t.Errorf("%s is a link: %t, %v", path, isLink, err)
		}
	}
	if got := EnsureLongPath(EnsureLongPath(`C:\a`)); got != `\\?\C:\a` {
		t.Error(got)
	}
	for name, err := range map[string]error{"IsPathValid": second(IsPathValid(dir)),
		"IsMountedFolder": second(IsMountedFolder(dir))} {
		if (err == nil) != (runtime.GOOS == "windows") || err != nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second(_ bool, err error) error { return err }
