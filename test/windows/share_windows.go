// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/test/windows/winapi"
)

// NewShare shares a new directory and makes an account that may log on to it, both until the test ends. The password is
// random and is in no command line.
func NewShare(t testing.TB) (Share, error) {
	t.Helper()
	return newShare(t, 0)
}

// NewEncryptedShare makes a share that refuses clients which do not encrypt.
func NewEncryptedShare(t testing.TB) (Share, error) {
	t.Helper()
	return newShare(t, winapi.ShareEncryptData)
}

func newShare(t testing.TB, flags uint32) (Share, error) {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		return Share{}, err
	}
	made := Share{User: randomName(), Password: "Aa1!" + random(12)}
	name, dir, mark := randomName(), filepath.Join(t.TempDir(), "shared"), "made by csi-proxy-prove "+random(8)
	made.Remote = `\\` + host + `\` + name
	if err := os.Mkdir(dir, 0o700); err != nil {
		return Share{}, err
	}
	for _, thing := range []struct {
		Entry
		make func() error
	}{
		{Entry{Kind: KindUser, Name: made.User, Mark: mark}, func() error { return addUser(made.User, made.Password, mark) }},
		{Entry{Kind: KindShare, Name: name, Mark: mark}, func() error { return addShare(name, dir, mark, administratorsAnd(made.User), flags) }},
		{Entry{Kind: KindMapping, Name: made.Remote}, func() error { return nil }}, // which others make
	} {
		if err := making(t, thing.Entry, func(*Entry) error { return thing.make() }); err != nil {
			return Share{}, err
		}
	}
	return made, nil
}

// addUser calls NetUserAdd.
func addUser(name, password, comment string) error {
	name16, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return err
	}
	password16, err := windows.UTF16PtrFromString(password)
	if err != nil {
		return err
	}
	comment16, err := windows.UTF16PtrFromString(comment)
	if err != nil {
		return err
	}
	return netError("NetUserAdd", winapi.NetUserAdd(nil, 1, &winapi.UserInfo1{
		Name: name16, Password: password16, Comment: comment16, Priv: winapi.UserPrivUser,
		Flags: winapi.UserScript | winapi.UserNormalAccount | winapi.UserPasswordStays,
	}, nil))
}

// removeUser removes an account if it has the comment that it was made with.
func removeUser(_ context.Context, e Entry) error {
	name, err := windows.UTF16PtrFromString(e.Name)
	if err != nil {
		return err
	}
	var buffer *byte
	err = windows.NetUserGetInfo(nil, name, 1, &buffer)
	if errors.Is(err, syscall.Errno(winapi.UserNotFound)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("NetUserGetInfo: %w", err)
	}
	comment := windows.UTF16PtrToString((*winapi.UserInfo1)(unsafe.Pointer(buffer)).Comment)
	_ = windows.NetApiBufferFree(buffer)
	if comment != e.Mark {
		return NotOurs("it has another comment")
	}
	return netError("NetUserDel", winapi.NetUserDel(nil, name))
}

// administratorsAnd returns a descriptor, in SDDL, that gives nobody else access: others of the network must not find a place
// to write to.
func administratorsAnd(user string) string {
	const administrators = "D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
	sid, _, _, err := windows.LookupSID("", user)
	if err != nil {
		return administrators
	}
	return administrators + "(A;OICI;FA;;;" + sid.String() + ")"
}

// addShare sets a directory's access and calls NetShareAdd and, with flags, NetShareSetInfo.
func addShare(name, dir, remark, sddl string, flags uint32) error {
	access, err := windows.SecurityDescriptorFromString(sddl)
	if err != nil {
		return err
	}
	acl, _, err := access.DACL()
	if err != nil {
		return err
	}
	err = windows.SetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION, nil, nil, acl, nil)
	if err != nil {
		return fmt.Errorf("setting the access to %s: %w", dir, err)
	}
	name16, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return err
	}
	dir16, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return err
	}
	remark16, err := windows.UTF16PtrFromString(remark)
	if err != nil {
		return err
	}
	const unlimited = 0xFFFFFFFF
	err = netError("NetShareAdd", winapi.NetShareAdd(nil, 502, &winapi.ShareInfo502{
		NetName: name16, Type: winapi.ShareDiskTree, Remark: remark16, Path: dir16, MaxUses: unlimited, SecurityDescriptor: access,
	}, nil))
	if err != nil || flags == 0 {
		return err
	}
	return netError("NetShareSetInfo", winapi.NetShareSetInfo(nil, name16, 1005, &winapi.ShareInfo1005{Flags: flags}, nil))
}

// removeShare ends the sharing of a directory if the share has the remark that it was made with.
func removeShare(_ context.Context, e Entry) error {
	name, err := windows.UTF16PtrFromString(e.Name)
	if err != nil {
		return err
	}
	var info *winapi.ShareInfo502
	status := winapi.NetShareGetInfo(nil, name, 502, &info)
	if status == winapi.ShareNotFound || status == uint32(win32.ERROR_NOT_SUPPORTED) { // Wine has no shares
		return nil
	}
	if status != 0 {
		return netError("NetShareGetInfo", status)
	}
	remark := windows.UTF16PtrToString(info.Remark)
	_ = windows.NetApiBufferFree((*byte)(unsafe.Pointer(info)))
	if remark != e.Mark {
		return NotOurs("it has another remark")
	}
	return netError("NetShareDel", winapi.NetShareDel(nil, name, 0))
}

// removeMapping removes the global mapping of a share that was made: whoever made it, it leads nowhere else.
func removeMapping(_ context.Context, e Entry) error {
	if !isRandom(e.Name[strings.LastIndex(e.Name, `\`)+1:], "") {
		return NotOurs("its share's name is not a random one")
	}
	k := nativeKernel()
	mappings, err := k.SMBGlobalMappings()
	if errors.Is(err, win32.ERROR_NOT_SUPPORTED) {
		return nil // this Windows has none
	}
	if err != nil {
		return err
	}
	for _, m := range mappings {
		if strings.EqualFold(m.RemotePath, e.Name) {
			return k.RemoveSMBGlobalMapping(m.RemotePath)
		}
	}
	return nil
}

func netError(function string, status uint32) error {
	if status == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w", function, win32.Errno(status))
}
