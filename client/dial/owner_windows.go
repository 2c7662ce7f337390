// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// checkOwner refuses an open pipe whose owner is neither SYSTEM nor Administrators nor this process's own user. While no
// agent runs, any user of the machine may make a pipe of its name and wait there for the passwords that drivers send.
// Only a privileged process makes objects that belong to another user. Nothing was sent yet.
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
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return fmt.Errorf("cannot find out the user of this process: %w", err)
	}
	if owner == nil {
		return fmt.Errorf("%w: it has no owner", errOwner)
	}
	if owner.IsWellKnown(windows.WinLocalSystemSid) || owner.IsWellKnown(windows.WinBuiltinAdministratorsSid) ||
		owner.Equals(user.User.Sid) {
		return nil
	}
	name := owner.String()
	if account, domain, _, err := owner.LookupAccount(""); err == nil {
		name = domain + `\` + account + " (" + name + ")"
	}
	return fmt.Errorf("%w: it belongs to %s", errOwner, name)
}
