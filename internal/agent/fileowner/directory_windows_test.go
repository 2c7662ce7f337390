// SPDX-License-Identifier: Apache-2.0

package fileowner

import (
	"bytes"
	"path/filepath"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// requireLists skips the test on Wine, which makes access lists of Unix modes.
func requireLists(t *testing.T) {
	t.Helper()
	if windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil {
		t.Skip("require access lists that are kept as they are given")
	}
}

// What is made for logs and records is private, the directories above can be read.
func TestMadeDirectories(t *testing.T) {
	requireLists(t)
	dir := filepath.Join(t.TempDir(), "above", "logs")
	if err := MakePrivateDirectory(dir); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]win32.AccessList{dir: private, filepath.Dir(dir): readable} {
		if _, list, err := security(path); err != nil || !bytes.Equal(list.Bytes(), want.Bytes()) {
			t.Errorf("%s: got %+v, %v", path, list.Allowed(), err)
		}
	}
}
