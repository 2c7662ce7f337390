// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
)

func TestParseErrno(t *testing.T) {
	for text, want := range map[string]win32.Errno{
		"ERROR_NOT_READY": win32.ERROR_NOT_READY, "21": win32.ERROR_NOT_READY, "0x15": win32.ERROR_NOT_READY,
		"4294967295": 0xFFFFFFFF,
	} {
		if got, err := faults.ParseErrno(text); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "ERROR_NO_SUCH_THING", "-1", "4294967296", "error_not_ready"} {
		if got, err := faults.ParseErrno(text); err == nil {
			t.Errorf("%q: got %d, want an error", text, got)
		}
	}
}

func TestParseControlCode(t *testing.T) {
	for _, text := range []string{"IOCTL_DISK_GET_DRIVE_LAYOUT_EX", "0x00070050", "458832"} {
		if got, err := faults.ParseControlCode(text); err != nil || got != win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX {
			t.Errorf("%s: got %#x, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "IOCTL_NO_SUCH_THING", "0x1ffffffff"} {
		if got, err := faults.ParseControlCode(text); err == nil {
			t.Errorf("%q: got %#x, want an error", text, got)
		}
	}
}

func FuzzParseNames(f *testing.F) {
	for _, text := range []string{"ERROR_NOT_READY", "0x15", "FSCTL_LOCK_VOLUME", "-1", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if code, err := faults.ParseErrno(text); err == nil && code.Name() != "" {
			if again, err := faults.ParseErrno(code.Name()); err != nil || again != code {
				t.Errorf("%q is %d, whose name is %d, %v", text, code, again, err)
			}
		}
		if code, err := faults.ParseControlCode(text); err == nil {
			if again, err := faults.ParseControlCode(win32.ControlCodeName(code)); err != nil || again != code {
				t.Errorf("%q is %#x, whose name is %#x, %v", text, code, again, err)
			}
		}
	})
}
