// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/winapitest"
)

// RunsAsSystem reports whether this process's user is SYSTEM.
func RunsAsSystem() bool {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	return err == nil && user.User.Sid.IsWellKnown(windows.WinLocalSystemSid)
}

// An Account is a local one that may use shares. The password is random and is in no command line.
type Account struct {
	Name, Password string
	mark           string // the comment by which it is known to be the tests'
}

func newAccount() Account {
	return Account{Name: RandomName(), Password: "Aa1!" + random(12), mark: "made by a test of CSI Proxy " + random(8)}
}

// NewAccount makes an account until the test ends.
func NewAccount(t testing.TB) (Account, error) {
	t.Helper()
	a := newAccount()
	if err := a.add(); err != nil {
		return a, err
	}
	t.Cleanup(func() { removed(t, "account "+a.Name, a.remove()) })
	return a, nil
}

// removed fails a test that leaves something on the machine.
func removed(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("left on this machine: %s: %v", what, err)
	}
}

// shared is the account of this process's shares, which is there while a test has one. Windows has one session with a
// server, and refuses another account until some time after the last mapping: so it has the same name each time.
var shared struct {
	mu      sync.Mutex
	account Account
	users   int
}

// SharedAccount makes the account of this process's shares, if it is not there, until the last test ends that uses it.
func SharedAccount(t testing.TB) (Account, error) {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.account.Name == "" {
		shared.account = newAccount()
	}
	if shared.users == 0 {
		if err := shared.account.add(); err != nil {
			return Account{}, err
		}
	}
	shared.users++
	t.Cleanup(func() {
		shared.mu.Lock()
		defer shared.mu.Unlock()
		if shared.users--; shared.users > 0 {
			return
		}
		if !OnWine() { // which lacks NetSessionDel, and shares
			_ = Share{User: shared.account.Name}.EndSessions() // the next account of this name is another one
		}
		removed(t, "account "+shared.account.Name, shared.account.remove())
	})
	return shared.account, nil
}

// add makes the account, and sees whether it may log on as it will have to.
func (a Account) add() error {
	texts, err := wide(a.Name, a.Password, a.mark)
	if err != nil {
		return err
	}
	err = netError("NetUserAdd", winapitest.NetUserAdd(nil, 1, &winapitest.UserInfo1{
		Name: texts[0], Password: texts[1], Comment: texts[2], Priv: winapitest.UserPrivUser,
		Flags: winapitest.UserScript | winapitest.UserNormalAccount | winapitest.UserPasswordStays,
	}, nil))
	if err != nil {
		return err
	}
	var refused Unavailable
	if err := LogonRefused(a.logOn()); errors.As(err, &refused) {
		return errors.Join(refused, a.remove())
	}
	return nil // other refusals are for the tests to meet
}

// logOn logs the account on as from the network, and off.
func (a Account) logOn() error {
	texts, err := wide(a.Name, ".", a.Password)
	if err != nil {
		return err
	}
	var token windows.Token
	if err := winapitest.LogonUser(texts[0], texts[1], texts[2], winapitest.LogonNetwork, 0, &token); err != nil {
		return fmt.Errorf("LogonUser: %w", err)
	}
	return token.Close()
}

// remove removes the account if it has the comment that it was made with.
func (a Account) remove() error {
	name, err := windows.UTF16PtrFromString(a.Name)
	if err != nil {
		return err
	}
	var buffer *byte
	err = windows.NetUserGetInfo(nil, name, 1, &buffer)
	if errors.Is(err, syscall.Errno(winapitest.UserNotFound)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("NetUserGetInfo: %w", err)
	}
	comment := windows.UTF16PtrToString((*winapitest.UserInfo1)(unsafe.Pointer(buffer)).Comment)
	_ = windows.NetApiBufferFree(buffer)
	if comment != a.mark && !OnWine() { // which forgets comments
		return fmt.Errorf("the account has the comment %q, which no test gave it", comment)
	}
	return netError("NetUserDel", winapitest.NetUserDel(nil, name))
}

// EndSessions ends the sessions of the share's account, as a server does that restarts. Its open files are closed.
func (s Share) EndSessions() error {
	user, err := windows.UTF16PtrFromString(s.User[strings.LastIndex(s.User, `\`)+1:])
	if err != nil {
		return err
	}
	return netError("NetSessionDel", winapitest.NetSessionDel(nil, nil, user))
}

// wide converts texts to the NUL-terminated form that Windows takes.
func wide(texts ...string) (all []*uint16, err error) {
	for _, text := range texts {
		p, err := windows.UTF16PtrFromString(text)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		all = append(all, p)
	}
	return all, nil
}

func netError(function string, status uint32) error {
	if status == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w", function, win32.Errno(status))
}
