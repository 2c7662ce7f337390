// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

func addressOf[T any](v *T) uintptr { return uintptr(unsafe.Pointer(v)) }

func TestCheckPipeSecurity(t *testing.T) {
	for _, tt := range []struct {
		name, sddl string
		wants      []string // in the error; none: no error
	}{
		{"the default", Administrators, nil},
		{"and container users", Administrators + "(A;;GRGW;;;S-1-5-93-2-2)", nil},
		{"nobody", "D:P", nil},
		{"an owner", "O:SYG:SYD:P(A;;GA;;;SY)", nil},
		{"an owner whom clients refuse", "O:BUD:P(A;;GA;;;SY)", []string{"S-1-5-32-545", "leave the owner out"}},
		{"empty", "", []string{"no access control list"}},
		{"prose", "administrators only", []string{`"administrators only" is not a security descriptor`, "D:P(A;;GA;;;SY)"}},
		{"an unknown right", "D:P(A;;ZZ;;;SY)", []string{"is not a security descriptor"}},
		{"no list", "O:SYG:SY", []string{"no access control list", "everybody"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckPipeSecurity(tt.sddl)
			if (err != nil) != (tt.wants != nil) {
				t.Fatalf("got the error %v, want one with %q", err, tt.wants)
			}
			for _, want := range tt.wants {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got the error %q, want %q in it", err, want)
				}
			}
		})
	}
}

// TestPipeSecurity asks the pipe itself. Without options, and at private endpoints with any, it admits only SYSTEM and
// administrators. Their descriptor is written out here, so that no change of the constant goes unnoticed.
func TestPipeSecurity(t *testing.T) {
	const administrators, worldAccess = "D:P(A;;GA;;;SY)(A;;GRGW;;;BA)", "D:P(A;;GA;;;SY)(A;;GRGW;;;BA)(A;;GRGW;;;WD)"
	user, err := currentUser()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(user, administrators+"(A;;GRGW;;;S-1-") {
		t.Errorf("got %q for the current user", user)
	}
	for i, test := range []struct {
		options string
		private bool
		want    string
	}{
		{"", false, administrators}, {"", true, administrators}, {worldAccess, false, worldAccess},
		{worldAccess, true, administrators}, {user, false, user},
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

func TestATakenNameIsAnErrorThatNamesItsHolder(t *testing.T) {
	path := pipe(t)
	listen(t, openPipes(t, Administrators), path)
	_, err := openPipes(t, Administrators).Listen(name(path), false)
	if err == nil {
		t.Fatal("got no error for a pipe that exists")
	}
	for _, want := range []string{path, fmt.Sprintf("pid %d", os.Getpid()), ".exe"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %q, want %q in it", err, want)
		}
	}
}

func TestTheClientHasAName(t *testing.T) {
	path := pipe(t)
	l := listen(t, openPipes(t, Administrators), path)
	dial(t, path)
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, want := PeerOf(c).String(), fmt.Sprintf("pid %d ", os.Getpid()); !strings.HasPrefix(got, want) ||
		!strings.HasSuffix(got, ".exe") {
		t.Errorf("got the client %q, want %q and the path of its program", got, want)
	}
	if got := c.LocalAddr().String(); got != path {
		t.Errorf("got the address %q, want %q", got, path)
	}
}
