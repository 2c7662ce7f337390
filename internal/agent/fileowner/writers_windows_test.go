// SPDX-License-Identifier: Apache-2.0

package fileowner

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"
)

func TestWritersOfADirectory(t *testing.T) {
	directory := func(sddl string) string {
		dir := filepath.Join(t.TempDir(), "dir")
		descriptor, err := windows.SecurityDescriptorFromString(sddl)
		if err != nil {
			t.Fatal(err)
		}
		attributes := &windows.SecurityAttributes{Length: 24, SecurityDescriptor: descriptor}
		name, err := windows.UTF16PtrFromString(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := windows.CreateDirectory(name, attributes); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	for _, test := range []struct{ sddl, want string }{
		{"O:BAD:P(A;;FA;;;SY)(A;;FA;;;BA)(A;;FRFX;;;WD)", ""},
		{"O:BAD:P(A;;FA;;;SY)(A;;FA;;;BA)(A;;FRFWFX;;;WD)", world},
		{"O:BAD:P(A;;FA;;;SY)(A;;FA;;;BA)(A;;0x1201a9;;;WD)", world}, // reading and FILE_WRITE_ATTRIBUTES
	} {
		who, err := Writers(directory(test.sddl))
		if err != nil {
			t.Fatal(err)
		}
		if test.want != "" {
			test.want = accountName(test.want)
		}
		if got := strings.Join(who, " "); got != test.want {
			if windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil {
				t.Logf("on Wine, which keeps Unix modes: %s: got %q, want %q", test.sddl, got, test.want)
				continue
			}
			t.Errorf("%s: got %q, want %q", test.sddl, got, test.want)
		}
	}
	if _, err := Writers(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, windows.ERROR_FILE_NOT_FOUND) {
		t.Errorf("got %v, want ERROR_FILE_NOT_FOUND", err)
	}
}
