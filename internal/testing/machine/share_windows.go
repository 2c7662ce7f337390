// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"

	native "github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/winapitest"
)

// ShareOptions describe a share. The zero value is usable.
type ShareOptions struct {
	Name      string   // empty: a random one
	Account   *Account // which may use it; nil: SharedAccount's
	Encrypted bool     // it refuses clients that do not encrypt
}

// NewShare shares a new directory until the test ends, when it also removes a global mapping of the share, whichever
// program made it.
func NewShare(t testing.TB, o ShareOptions) (Share, error) {
	t.Helper()
	if OnWine() {
		return Share{}, Unavailable("Wine has no shares")
	}
	host, err := os.Hostname()
	if err != nil {
		return Share{}, err
	}
	if o.Account == nil {
		account, err := SharedAccount(t)
		if err != nil {
			return Share{}, err
		}
		o.Account = &account
	}
	name, dir := cmp.Or(o.Name, RandomName()), filepath.Join(t.TempDir(), "shared")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return Share{}, err
	}
	flags := uint32(0)
	if o.Encrypted {
		flags = winapitest.ShareEncryptData
	}
	if err := addShare(name, dir, o.Account.mark, o.Account.Name, flags); err != nil {
		return Share{}, err
	}
	// A bare name of the account may be one of the domain.
	made := Share{Remote: `\\` + host + `\` + name, User: host + `\` + o.Account.Name, Password: o.Account.Password,
		Remark: o.Account.mark}
	t.Cleanup(func() { removed(t, "share "+made.Remote, made.Remove()) })
	return made, nil
}

// Remove removes the share and its mapping, if they are there.
func (s Share) Remove() error {
	return errors.Join(removeMapping(s.Remote), removeShare(s.Remote[strings.LastIndexByte(s.Remote, '\\')+1:], s.Remark))
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
	err = netError("NetShareSetInfo",
		winapitest.NetShareSetInfo(nil, texts[0], 1005, &winapitest.ShareInfo1005{Flags: flags}, nil))
	if err != nil {
		err = errors.Join(err, removeShare(name, remark))
	}
	return err
}

// removeShare ends the sharing of a directory if the share has the remark that it was made with.
func removeShare(name, remark string) error {
	wideName, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return err
	}
	var info *winapitest.ShareInfo502
	status := winapitest.NetShareGetInfo(nil, wideName, 502, &info)
	if status == winapitest.ShareNotFound {
		return nil
	}
	if status != 0 {
		return netError("NetShareGetInfo", status)
	}
	is := windows.UTF16PtrToString(info.Remark)
	_ = windows.NetApiBufferFree((*byte)(unsafe.Pointer(info)))
	if is != remark {
		return fmt.Errorf("the share has the remark %q, which no test gave it", is)
	}
	return netError("NetShareDel", winapitest.NetShareDel(nil, wideName, 0))
}

// removeMapping removes the global mapping of a share, if there is one.
func removeMapping(remote string) error {
	k := native.New()
	mappings, err := k.SMBGlobalMappings()
	if errors.Is(err, win32.ERROR_NOT_SUPPORTED) {
		return nil // this Windows has none
	}
	if err != nil {
		return err
	}
	for _, m := range mappings {
		if winpath.Fold(m.RemotePath) == winpath.Fold(remote) {
			return k.RemoveSMBGlobalMapping(m.RemotePath)
		}
	}
	return nil
}
