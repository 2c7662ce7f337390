// SPDX-License-Identifier: Apache-2.0

package fileowner

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// give gives an object an owner and a list.
func give(t *testing.T, path, owner string, list win32.AccessList) {
	t.Helper()
	sid, err := windows.StringToSid(owner)
	if err != nil {
		t.Fatal(err)
	}
	dacl, _, err := descriptorOf(list).DACL()
	if err != nil {
		t.Fatal(err)
	}
	if err := windows.SetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION|
		windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, sid, nil, dacl, nil); err != nil {
		t.Fatal(err)
	}
}

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
	if _, list, err := security(dir); err != nil || isNotPrivate(list) {
		t.Errorf("got %+v, %v", list.Allowed(), err)
	}
	if _, list, err := security(filepath.Dir(dir)); err != nil || !isReadable(list) {
		t.Errorf("the directory above: got %+v, %v", list.Allowed(), err)
	}
}

// Directories of an earlier release lose the right of Users, and so do the files in them. All others stay as they are.
func TestTightening(t *testing.T) {
	requireLists(t)
	const administrators = "S-1-5-32-544"
	user, err := self()
	if err != nil {
		t.Fatal(err)
	}
	open := win32.NewProtectedList(win32.NewAccessEntry("S-1-5-11", win32.FILE_ALL_ACCESS))
	for _, test := range []struct {
		name, owner      string
		list             win32.AccessList
		tighten          func(string) error
		directory, files bool // whether they end private
	}{
		{"an earlier release's", administrators, readable, TightenEarlier, true, true},
		{"another list", administrators, open, TightenEarlier, false, false},
		{"a user's", user, readable, TightenEarlier, false, false},
		{"any list", administrators, open, Tighten, true, false},
		{"any list, a user's", user, open, Tighten, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "dir")
			if err := MakeDirectory(dir); err != nil {
				t.Fatal(err)
			}
			log := filepath.Join(dir, "csi-proxy.log")
			if err := os.WriteFile(log, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			give(t, log, administrators, test.list)
			give(t, dir, test.owner, test.list)
			for range 2 {
				if err := test.tighten(dir); err != nil {
					t.Fatal(err)
				}
			}
			for path, want := range map[string]bool{dir: test.directory, log: test.files} {
				_, list, err := security(path)
				others := slices.ContainsFunc(list.Allowed(), func(e win32.AccessEntry) bool { return !ours(string(e.SID)) })
				if err != nil || others == want {
					t.Errorf("%s: got %+v, %v, want none but SYSTEM and Administrators: %v", path, list.Allowed(), err, want)
				}
			}
		})
	}
	if err := TightenEarlier(filepath.Join(t.TempDir(), "missing")); err != nil {
		t.Errorf("a missing directory: %v", err)
	}
}
