// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"strings"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/winapitest"
)

// NewEncryptedShare makes a share that refuses clients which do not encrypt.
func NewEncryptedShare(t testing.TB) (Share, error) {
	t.Helper()
	return newSharedShare(t, winapitest.ShareEncryptData)
}

// NewStrangersShare makes a share of an account of its own, until the test ends.
func NewStrangersShare(t testing.TB) (Share, error) {
	t.Helper()
	a := newAccount()
	err := provision(t, Entry{Kind: KindUser, Name: a.name, Mark: a.mark}, func(*Entry) error { return a.add() })
	if err != nil {
		return Share{}, err
	}
	return newShare(t, a, 0)
}

// EndSessions ends the sessions of a share's account, as a server does that restarts. Its open files are closed.
func EndSessions(s Share) error {
	user, err := windows.UTF16PtrFromString(s.User[strings.LastIndex(s.User, `\`)+1:])
	if err != nil {
		return err
	}
	return netError("NetSessionDel", winapitest.NetSessionDel(nil, nil, user))
}

// SetAutomount sets whether the mount manager mounts new volumes, until the test ends.
func SetAutomount(t testing.TB, setting string) error {
	t.Helper()
	before, err := automount()
	if err != nil || before == setting {
		return err
	}
	e := Entry{Kind: KindAutomount, Name: "of the mount manager", Mark: setting, Before: before}
	return provision(t, e, func(*Entry) error { return mountvol(setting) })
}
