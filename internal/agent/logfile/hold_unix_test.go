// SPDX-License-Identifier: Apache-2.0

//go:build unix

package logfile

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// holdName makes renaming the file fail until release is called. Root may rename in a read-only directory, so the
// directory is made append-only where that is possible.
func holdName(t *testing.T, path string) (release func()) {
	t.Helper()
	dir := filepath.Dir(path)
	if os.Geteuid() != 0 {
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	// A mount point cannot be renamed, not even by root, so the file is mounted on itself.
	if err := unix.Mount(path, path, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("root cannot be prevented from renaming a file here: %v", err)
	}
	return func() {
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil {
			t.Fatal(err)
		}
	}
}
