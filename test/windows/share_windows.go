// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/winapitest"
)

// NewShare shares a new directory until the test ends. All shares of a process have one account: Windows has one
// session with a server, and refuses another account until some time after the last mapping.
func NewShare(t testing.TB) (Share, error) {
	t.Helper()
	return newSharedShare(t, 0)
}

func newSharedShare(t testing.TB, flags uint32) (Share, error) {
	t.Helper()
	a, err := ofProcess.get()
	if err != nil {
		return Share{}, err
	}
	return newShare(t, a, flags)
}

// newShare shares a new directory with an account.
func newShare(t testing.TB, a account, flags uint32) (Share, error) {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		return Share{}, err
	}
	name, dir := randomName(), filepath.Join(t.TempDir(), "shared")
	// a bare name may be one of the domain
	made := Share{Remote: `\\` + host + `\` + name, User: host + `\` + a.name, Password: a.password}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return Share{}, err
	}
	for _, thing := range []struct {
		Entry
		make func() error
	}{
		{Entry{Kind: KindShare, Name: name, Mark: a.mark},
			func() error { return addShare(name, dir, a.mark, a.name, flags) }},
		{Entry{Kind: KindMapping, Name: made.Remote}, func() error { return nil }}, // which others make
	} {
		if err := provision(t, thing.Entry, func(*Entry) error { return thing.make() }); err != nil {
			return Share{}, err
		}
	}
	return made, nil
}

// accessOf returns descriptors, in SDDL, of a share and of its directory: others of the network must not find a place
// to write to. The share admits only the account, not the administrator that runs the tests, so opening it proves the
// password. The directory admits administrators, too, for removal.
func accessOf(user string) (share, directory string, err error) {
	sid, _, _, err := windows.LookupSID("", user)
	if err != nil {
		return "", "", fmt.Errorf("LookupAccountName %s: %w", user, err)
	}
	share = "D:P(A;OICI;FA;;;" + sid.String() + ")"
	return share, share + "(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)", nil
}

// addShare sets a directory's access and calls NetShareAdd and, with flags, NetShareSetInfo.
func addShare(name, dir, remark, user string, flags uint32) error {
	forShare, forDirectory, err := accessOf(user)
	if err != nil {
		return err
	}
	access, err := windows.SecurityDescriptorFromString(forShare)
	if err != nil {
		return err
	}
	local, err := windows.SecurityDescriptorFromString(forDirectory)
	if err != nil {
		return err
	}
	acl, _, err := local.DACL()
	if err != nil {
		return err
	}
	err = windows.SetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION, nil, nil, acl, nil)
	if err != nil {
		return fmt.Errorf("setting the access to %s: %w", dir, err)
	}
	texts, err := wide(name, dir, remark)
	if err != nil {
		return err
	}
	const unlimited = 0xFFFFFFFF
	err = netError("NetShareAdd", winapitest.NetShareAdd(nil, 502, &winapitest.ShareInfo502{
		NetName: texts[0], Type: winapitest.ShareDiskTree, Remark: texts[2], Path: texts[1], MaxUses: unlimited,
		SecurityDescriptor: access,
	}, nil))
	if err != nil || flags == 0 {
		return err
	}
	return netError("NetShareSetInfo",
		winapitest.NetShareSetInfo(nil, texts[0], 1005, &winapitest.ShareInfo1005{Flags: flags}, nil))
}

// removeShare ends the sharing of a directory if the share has the remark that it was made with.
func removeShare(_ context.Context, e Entry) error {
	name, err := windows.UTF16PtrFromString(e.Name)
	if err != nil {
		return err
	}
	var info *winapitest.ShareInfo502
	status := winapitest.NetShareGetInfo(nil, name, 502, &info)
	if status == winapitest.ShareNotFound || status == uint32(win32.ERROR_NOT_SUPPORTED) { // Wine has no shares
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
	return netError("NetShareDel", winapitest.NetShareDel(nil, name, 0))
}

// removeMapping removes the global mapping of a share that was made: it leads nowhere else, no matter which program
// made it.
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
