// SPDX-License-Identifier: Apache-2.0

package fileowner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestIsLink(t *testing.T) {
	dir := t.TempDir()
	if got, err := IsLink(dir); err != nil || got {
		t.Errorf("a directory: got %v, %v", got, err)
	}
	if _, err := IsLink(filepath.Join(dir, "missing")); !os.IsNotExist(err) {
		t.Errorf("a missing directory: got %v", err)
	}
	path := filepath.Join(t.TempDir(), "logs")
	err := os.Symlink(dir, path)
	if err == nil {
		_, err = os.Lstat(path) // Wine reports success without making one
	}
	if err != nil {
		t.Skipf("require a symbolic link: %v", err)
	}
	for _, path := range []string{path, path + string(filepath.Separator)} {
		if got, err := IsLink(path); err != nil || !got {
			t.Errorf("a link, as %s: got %v, %v", path, got, err)
		}
	}
}

func TestMakeDirectoryBelowAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := MakeDirectory(filepath.Join(file, "logs")); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
}
