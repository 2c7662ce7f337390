// SPDX-License-Identifier: Apache-2.0

package fileowner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
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

// Only SYSTEM and Administrators may read a directory of logs or records, or change it, and nothing is inherited.
func TestLogDirectoryAccess(t *testing.T) {
	const full, protected = 0x1f01ff, 0x10
	descriptor := private.Bytes()
	list, err := win32.ParseAccessList(descriptor)
	if err != nil || list.Everyone || descriptor[3]&protected == 0 {
		t.Fatalf("the list of %x inherits or is none: %v", descriptor, err)
	}
	entries := list.Allowed()
	for i, want := range []win32.SID{"S-1-5-18", "S-1-5-32-544"} {
		if len(entries) != 2 || entries[i] != (win32.AccessEntry{SID: want, Mask: full, Flags: 3}) {
			t.Fatalf("got %+v", entries)
		}
	}
}
