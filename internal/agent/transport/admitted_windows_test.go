// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/windows"
)

// TestPipeSecurityDescriptor: without options, and at private endpoints with any, only SYSTEM and administrators.
// The descriptor is written out here, so that no change of the constant goes unnoticed.
func TestPipeSecurityDescriptor(t *testing.T) {
	const worldAccess, administrators = "D:P(A;;GA;;;SY)(A;;GRGW;;;BA)(A;;GRGW;;;WD)", "D:P(A;;GA;;;SY)(A;;GRGW;;;BA)"
	for i, test := range []struct {
		options string
		private bool
		want    string
	}{
		{"", false, administrators}, {"", true, administrators}, {worldAccess, false, worldAccess},
		{worldAccess, true, administrators},
	} {
		path := fmt.Sprint(pipe(t), i)
		l, err := openPipes(t, test.options).Listen(name(path), test.private)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		h, err := tryOpen(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = windows.CloseHandle(h) })
		descriptor, err := windows.GetSecurityInfo(h, windows.SE_KERNEL_OBJECT, windows.DACL_SECURITY_INFORMATION)
		if err != nil {
			t.Fatal(err)
		}
		// Windows has mapped the generic rights, Wine leaves them.
		if got := strings.NewReplacer("FA", "GA", "FRFW", "GRGW", "0x12019f", "GRGW", "GWGR", "GRGW").Replace(
			descriptor.String()); got != test.want {
			t.Errorf("options %q, private %t: %s, want %s", test.options, test.private, got, test.want)
		}
	}
}
