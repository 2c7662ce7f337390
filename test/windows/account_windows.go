// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/winapitest"
)

// RunsAsSystem reports whether this process's user is SYSTEM.
func RunsAsSystem() bool {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	return err == nil && user.User.Sid.IsWellKnown(windows.WinLocalSystemSid)
}

// An account is a local one that may use shares. The password is random and is in no command line.
type account struct{ name, password, mark string }

func newAccount() account {
	return account{name: randomName(), password: "Aa1!" + random(12), mark: "made by csi-proxy-prove " + random(8)}
}

// add makes the account, and sees whether it may log on as it will have to.
func (a account) add() error {
	if err := addUser(a.name, a.password, a.mark); err != nil {
		return err
	}
	var refused Unavailable
	if err := logonRefused(logOn(a.name, a.password)); errors.As(err, &refused) {
		return refused
	}
	return nil // other refusals are for the tests to meet
}

// ofProcess is the account of all shares of this process.
var ofProcess oneAccount

type oneAccount struct {
	once   sync.Once
	made   account
	ledger *Ledger
	entry  Entry
	err    error
}

// get makes the account when it is asked for first.
func (o *oneAccount) get() (account, error) {
	o.once.Do(func() {
		o.made = newAccount()
		if o.ledger, o.err = inherited(); o.err != nil {
			return
		}
		if o.entry, o.err = o.ledger.Note(Entry{Kind: KindUser, Name: o.made.name, Mark: o.made.mark}); o.err == nil {
			o.err = o.made.add()
		}
	})
	return o.made, o.err
}

// RemoveAccount removes the account of this process's shares, after its last test.
func RemoveAccount() error {
	if ofProcess.entry.ID == "" {
		return nil
	}
	return ofProcess.ledger.remove(context.Background(), ofProcess.entry)
}

// logOn logs an account on as from the network, and off.
func logOn(name, password string) error {
	texts, err := wide(name, ".", password)
	if err != nil {
		return err
	}
	var token windows.Token
	if err := winapitest.LogonUser(texts[0], texts[1], texts[2], winapitest.LogonNetwork, 0, &token); err != nil {
		return fmt.Errorf("LogonUser: %w", err)
	}
	return token.Close()
}

// addUser calls NetUserAdd.
func addUser(name, password, comment string) error {
	texts, err := wide(name, password, comment)
	if err != nil {
		return err
	}
	return netError("NetUserAdd", winapitest.NetUserAdd(nil, 1, &winapitest.UserInfo1{
		Name: texts[0], Password: texts[1], Comment: texts[2], Priv: winapitest.UserPrivUser,
		Flags: winapitest.UserScript | winapitest.UserNormalAccount | winapitest.UserPasswordStays,
	}, nil))
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

// removeUser removes an account if it has the comment that it was made with.
func removeUser(_ context.Context, e Entry) error {
	name, err := windows.UTF16PtrFromString(e.Name)
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
	if comment != e.Mark {
		return NotOurs("it has another comment")
	}
	return netError("NetUserDel", winapitest.NetUserDel(nil, name))
}
