// SPDX-License-Identifier: Apache-2.0

package utils

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Drivers compare these errors, which are those of the existing library.
func TestErrorsOfTheLibrary(t *testing.T) {
	if _, err := IsPathValid("C:\\a\x00b"); err == nil || !strings.HasPrefix(err.Error(), "invalid path: ") {
		t.Errorf("a path with a NUL: %v", err)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	if is, err := IsMountedFolder(missing); is || err != error(syscall.ERROR_FILE_NOT_FOUND) { //nolint:errorlint // bare
		t.Errorf("a missing path: %t, %v", is, err)
	}
}

func TestLinksAreMountedFolders(t *testing.T) {
	dir := t.TempDir()
	if is, err := IsMountedFolder(dir); is || err != nil {
		t.Errorf("a directory: %t, %v", is, err)
	}
	link := filepath.Join(dir, "link")
	err := os.Symlink(dir, link)
	if err == nil {
		_, err = os.Lstat(link) // Wine reports success and makes none
	}
	if err != nil {
		t.Skipf("require symlink: %v", err)
	}
	if is, err := IsMountedFolder(link); !is || err != nil {
		t.Errorf("a link: %t, %v", is, err)
	}
}
