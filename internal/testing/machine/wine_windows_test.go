// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// TestBindings looks for the functions by which a machine is prepared; a call of a missing one would end the
// tests. Wine has them all by name, and no more can be known of virtual disks there: it ends a process that calls
// one of their functions.
func TestBindings(t *testing.T) {
	for dll, functions := range map[string][]string{
		"advapi32.dll": {"CreateRestrictedToken", "LogonUserW"},
		"mpr.dll":      {"WNetAddConnection3W"},
		"netapi32.dll": {"NetUserAdd", "NetUserGetInfo", "NetUserDel", "NetShareAdd", "NetShareGetInfo", "NetShareSetInfo",
			"NetShareDel", "NetSessionDel"},
		"virtdisk.dll": {
			"CreateVirtualDisk", "OpenVirtualDisk", "AttachVirtualDisk", "DetachVirtualDisk", "ResizeVirtualDisk",
			"GetVirtualDiskPhysicalPath",
		},
	} {
		for _, function := range functions {
			if err := windows.NewLazySystemDLL(dll).NewProc(function).Find(); err != nil {
				t.Error(err)
			}
		}
	}
}

// ownName returns the name of the account that the tests run as.
func ownName(t *testing.T) string {
	t.Helper()
	self, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		t.Fatal(err)
	}
	name, _, _, err := self.User.Sid.LookupAccount("")
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// A share admits its account alone, and one without an account is not made.
func TestAccessOfAShare(t *testing.T) {
	share, directory, err := accessOf(ownName(t))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(share, "(A;") != 1 || !strings.Contains(share, ";;;S-1-5-") || !strings.HasPrefix(directory, share) ||
		!strings.Contains(directory, ";;;BA)") {
		t.Errorf("the share has %s, its directory %s", share, directory)
	}
	if share, _, err := accessOf("csiproxy-nobody"); err == nil {
		t.Errorf("a missing share has %s", share)
	}
}

// TestWineGaps pins Wine's results for the calls that prepare a share. When a row fails, Wine has changed.
func TestWineGaps(t *testing.T) {
	if !OnWine() {
		t.Skip("require Wine: this lists its differences from Windows")
	}
	a, me := newAccount(), ownName(t)
	for _, gap := range []struct {
		name string
		err  error
		want win32.Errno // 0: success, as on Windows
	}{
		{"add a user", a.add(), 0},
		{"delete a user", a.remove(), 0},
		{"add a share", addShare(RandomName(), t.TempDir(), "", me, 0), win32.ERROR_NOT_SUPPORTED},
	} {
		var got win32.Errno
		errors.As(gap.err, &got)
		if got != gap.want || gap.err != nil && got == 0 {
			t.Errorf("%s: Wine gives %v now, not %v", gap.name, gap.err, gap.want)
		}
	}
}

// The account of all shares is there as long as one test needs it, with one name and password. Only an account with the
// comment goes.
func TestAccounts(t *testing.T) {
	if !OnWine() && os.Getenv(NodeVariable) != "windows" {
		t.Skip("require " + NodeVariable + "=windows on a Windows machine that may be changed")
	}
	var first, second Account
	t.Run("first", func(t *testing.T) {
		var err error
		if first, err = SharedAccount(t); err != nil {
			t.Fatal(err)
		}
		t.Run("nested", func(t *testing.T) {
			if second, err = SharedAccount(t); err != nil || second != first {
				t.Errorf("got %s, %v, and before %s", second.Name, err, first.Name)
			}
		})
		if !exists(t, first) {
			t.Error("the account is gone while a test uses it")
		}
		stranger := first
		stranger.mark = "of another program"
		if !OnWine() && stranger.remove() == nil { // which forgets comments
			t.Error("an account with another comment was removed")
		}
	})
	if exists(t, first) {
		t.Error("the account is left")
	}
	t.Run("again", func(t *testing.T) {
		if second, err := SharedAccount(t); err != nil || second != first {
			t.Errorf("got %s, %v, and before %s", second.Name, err, first.Name)
		}
	})
}

func exists(t *testing.T, a Account) bool {
	t.Helper()
	name, err := windows.UTF16PtrFromString(a.Name)
	if err != nil {
		t.Fatal(err)
	}
	var buffer *byte
	if windows.NetUserGetInfo(nil, name, 1, &buffer) != nil {
		return false
	}
	_ = windows.NetApiBufferFree(buffer)
	return true
}
