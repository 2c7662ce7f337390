// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/test/windows/winapi"
)

// everyone may do everything: the rights of the share's user are not tested.
const everyone = "D:P(A;OICI;FA;;;WD)"

// NewShare shares a new directory and makes an account that may log on to it, both until the test ends. The password is
// random and is in no command line.
func NewShare(t testing.TB) (Share, error) {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		return Share{}, err
	}
	made := Share{User: "csi" + random(4), Password: "Aa1!" + random(12)}
	name := "csi" + random(4)
	made.Remote = `\\` + host + `\` + name
	if err := addUser(made.User, made.Password); err != nil {
		return Share{}, err
	}
	t.Cleanup(func() { _ = deleteUser(made.User) })
	dir := filepath.Join(t.TempDir(), "shared")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return Share{}, err
	}
	if err := addShare(name, dir); err != nil {
		return Share{}, err
	}
	t.Cleanup(func() { _ = deleteShare(name) })
	return made, nil
}

// random returns so many random bytes in hexadecimal.
func random(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// addUser calls NetUserAdd.
func addUser(name, password string) error {
	name16, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return err
	}
	password16, err := windows.UTF16PtrFromString(password)
	if err != nil {
		return err
	}
	return netError("NetUserAdd", winapi.NetUserAdd(nil, 1, &winapi.UserInfo1{
		Name: name16, Password: password16, Priv: winapi.UserPrivUser,
		Flags: winapi.UserScript | winapi.UserNormalAccount | winapi.UserPasswordStays,
	}, nil))
}

func deleteUser(name string) error {
	name16, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return err
	}
	return netError("NetUserDel", winapi.NetUserDel(nil, name16))
}

// addShare gives everyone access to the directory and calls NetShareAdd.
func addShare(name, dir string) error {
	access, err := windows.SecurityDescriptorFromString(everyone)
	if err != nil {
		return err
	}
	acl, _, err := access.DACL()
	if err != nil {
		return err
	}
	err = windows.SetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION, nil, nil, acl, nil)
	if err != nil {
		return fmt.Errorf("giving everyone access to %s: %w", dir, err)
	}
	name16, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return err
	}
	dir16, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return err
	}
	const unlimited = 0xFFFFFFFF
	return netError("NetShareAdd", winapi.NetShareAdd(nil, 502, &winapi.ShareInfo502{
		NetName: name16, Type: winapi.ShareDiskTree, Path: dir16, MaxUses: unlimited, SecurityDescriptor: access,
	}, nil))
}

func deleteShare(name string) error {
	name16, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return err
	}
	return netError("NetShareDel", winapi.NetShareDel(nil, name16, 0))
}

func netError(function string, status uint32) error {
	if status == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w", function, win32.Errno(status))
}
