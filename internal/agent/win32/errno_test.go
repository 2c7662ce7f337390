// SPDX-License-Identifier: Apache-2.0

package win32_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/kubernetes-csi/csi-proxy/internal/agent/win32" //nolint:revive // its tables are full of these names
)

func TestErrno(t *testing.T) {
	for _, test := range []struct {
		errno      Errno
		name, text string
	}{
		{ERROR_ACCESS_DENIED, "ERROR_ACCESS_DENIED", "access is denied (ERROR_ACCESS_DENIED, 5)"},
		{FVE_E_LOCKED_VOLUME, "FVE_E_LOCKED_VOLUME", "BitLocker has locked the volume (FVE_E_LOCKED_VOLUME, 0x80310000)"},
		{4711, "", "Windows error 4711"},
		{0x80041002, "", "Windows error 0x80041002"},
		{0, "", "Windows error 0"},
	} {
		if got := test.errno.Name(); got != test.name {
			t.Errorf("%d: name %q, want %q", uint32(test.errno), got, test.name)
		}
		if got := test.errno.Error(); got != test.text {
			t.Errorf("%d: text %q, want %q", uint32(test.errno), got, test.text)
		}
	}
	if err := fmt.Errorf("open: %w", ERROR_FILE_NOT_FOUND); !errors.Is(err, ERROR_FILE_NOT_FOUND) ||
		errors.Is(err, ERROR_PATH_NOT_FOUND) {
		t.Error("errors.Is does not compare codes")
	}
}

// TestErrnoNames: each constant has its own name, and a text.
func TestErrnoNames(t *testing.T) {
	ours := packageConstants(t, "*.go")
	for code := range Errnos() {
		name := code.Name()
		if got, want := fmt.Sprint(uint32(code)), ours[name]; want == nil || got != want.ExactString() {
			t.Errorf("%s = %s, want %v", name, got, want)
		}
		if strings.HasPrefix(code.Error(), " (") {
			t.Errorf("%s has no text", name)
		}
	}
}

func TestControlCodeName(t *testing.T) {
	if got, want := ControlCodeName(IOCTL_DISK_GET_LENGTH_INFO), "IOCTL_DISK_GET_LENGTH_INFO"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := ControlCodeName(0x0007405d), "0x0007405d"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	ours := packageConstants(t, "*.go")
	for code, name := range ControlCodeNames() {
		if got, want := fmt.Sprint(code), ours[name]; want == nil || got != want.ExactString() {
			t.Errorf("%s = %s, want %v", name, got, want)
		}
	}
	names := slices.Collect(maps.Values(ControlCodeNames()))
	for name := range ours {
		if (strings.HasPrefix(name, "IOCTL_") || strings.HasPrefix(name, "FSCTL_")) && !slices.Contains(names, name) {
			t.Errorf("%s has no name", name)
		}
	}
}
