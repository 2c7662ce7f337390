// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// checkOwner refuses an open pipe whose owner is neither SYSTEM nor Administrators nor this process's user, nor the one
// of objects that this process makes. While no agent runs, any user of the machine may make a pipe of its name and wait
// for the passwords that drivers send. Only a privileged process makes objects of another owner. Nothing was sent yet.
// https://learn.microsoft.com/windows/win32/api/aclapi/nf-aclapi-getsecurityinfo
func checkOwner(pipe windows.Handle) error {
	descriptor, err := windows.GetSecurityInfo(pipe, windows.SE_KERNEL_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return fmt.Errorf("cannot tell who made the pipe: %w", err)
	}
	owner, _, err := descriptor.Owner()
	if err != nil {
		return fmt.Errorf("cannot tell who made the pipe: %w", err)
	}
	token := windows.GetCurrentProcessToken()
	user, err := token.GetTokenUser()
	if err != nil {
		return fmt.Errorf("cannot find out the user of this process: %w", err)
	}
	own := new(tokenOwner)
	err = windows.GetTokenInformation(token, windows.TokenOwner, (*byte)(unsafe.Pointer(own)),
		uint32(unsafe.Sizeof(*own)), new(uint32))
	if err != nil {
		return fmt.Errorf("cannot find out who owns what this process makes: %w", err)
	}
	if owner == nil {
		return fmt.Errorf("%w: it has no owner", errOwner)
	}
	if owner.IsWellKnown(windows.WinLocalSystemSid) || owner.IsWellKnown(windows.WinBuiltinAdministratorsSid) ||
		owner.Equals(user.User.Sid) || owner.Equals(own.owner) {
		return nil
	}
	name := owner.String()
	if account, domain, _, err := owner.LookupAccount(""); err == nil {
		name = domain + `\` + account + " (" + name + ")"
	}
	return fmt.Errorf("%w: it belongs to %s", errOwner, name)
}

// tokenOwner is a TOKEN_OWNER with room for its SID, behind it.
// https://learn.microsoft.com/windows/win32/api/winnt/ns-winnt-token_owner
type tokenOwner struct {
	owner *windows.SID
	_     [68]byte // SECURITY_MAX_SID_SIZE
}
