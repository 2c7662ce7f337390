// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"runtime"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/winapitest"
)

// OwnToken returns a copy of this process's token for AsToken: what it may do, the process may.
func OwnToken() (windows.Token, error) {
	return impersonation(func(own windows.Token) (windows.Token, error) { return own, nil })
}

// StrangersToken returns a token for AsToken that is neither SYSTEM, nor an administrator, nor this process's user, and
// has no privileges.
func StrangersToken() (windows.Token, error) {
	return impersonation(func(own windows.Token) (windows.Token, error) {
		user, err := own.GetTokenUser()
		if err != nil {
			return 0, err
		}
		disable := []windows.SIDAndAttributes{{Sid: user.User.Sid}}
		for _, known := range []windows.WELL_KNOWN_SID_TYPE{windows.WinLocalSystemSid, windows.WinBuiltinAdministratorsSid} {
			sid, err := windows.CreateWellKnownSid(known)
			if err != nil {
				return 0, err
			}
			if !sid.Equals(user.User.Sid) { // this process may run as SYSTEM
				disable = append(disable, windows.SIDAndAttributes{Sid: sid})
			}
		}
		var made windows.Token
		err = winapitest.CreateRestrictedToken(own, winapitest.DisableMaxPrivilege, uint32(len(disable)),
			&disable[0], 0, nil, 0, nil, &made)
		return made, err
	})
}

// UnprivilegedToken returns a token for AsToken with this process's user and groups, and without its privileges.
func UnprivilegedToken() (windows.Token, error) {
	return impersonation(func(own windows.Token) (made windows.Token, err error) {
		err = winapitest.CreateRestrictedToken(own, winapitest.DisableMaxPrivilege, 0, nil, 0, nil, 0, nil, &made)
		return made, err
	})
}

// LowIntegrityToken returns a token for AsToken with this process's user and groups, and low integrity, as a browser's
// pages have it.
// https://learn.microsoft.com/windows/win32/secauthz/mandatory-integrity-control
func LowIntegrityToken() (windows.Token, error) {
	t, err := OwnToken()
	if err != nil {
		return 0, err
	}
	low, err := windows.CreateWellKnownSid(windows.WinLowLabelSid)
	if err == nil {
		label := windows.Tokenmandatorylabel{Label: windows.SIDAndAttributes{Sid: low,
			Attributes: windows.SE_GROUP_INTEGRITY}}
		err = windows.SetTokenInformation(t, windows.TokenIntegrityLevel, (*byte)(unsafe.Pointer(&label)), label.Size())
	}
	if err != nil {
		return 0, errors.Join(err, t.Close())
	}
	return t, nil
}

// impersonation returns a copy, for threads, of what derive makes of this process's token.
func impersonation(derive func(own windows.Token) (windows.Token, error)) (copied windows.Token, err error) {
	const wanted = windows.TOKEN_QUERY | windows.TOKEN_DUPLICATE | windows.TOKEN_IMPERSONATE |
		windows.TOKEN_ADJUST_DEFAULT | windows.TOKEN_ADJUST_PRIVILEGES
	var own windows.Token
	if err := windows.OpenProcessToken(windows.CurrentProcess(), wanted|windows.TOKEN_ASSIGN_PRIMARY, &own); err != nil {
		return 0, err
	}
	defer func() { _ = own.Close() }()
	made, err := derive(own)
	if err != nil {
		return 0, err
	}
	if made != own {
		defer func() { _ = made.Close() }()
	}
	err = windows.DuplicateTokenEx(made, wanted, nil, windows.SecurityImpersonation, windows.TokenImpersonation, &copied)
	return copied, err
}

// AsToken makes calls with another token than this process's.
// https://learn.microsoft.com/windows/win32/api/processthreadsapi/nf-processthreadsapi-setthreadtoken
func AsToken(token windows.Token, calls func()) error {
	runtime.LockOSThread() // the token is the thread's
	if err := windows.SetThreadToken(nil, token); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	calls()
	err := windows.RevertToSelf()
	if err == nil {
		runtime.UnlockOSThread() // else the thread ends with the goroutine
	}
	return err
}
