// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"fmt"

	"golang.org/x/sys/windows"
)

// Administrators is the security descriptor that admits only SYSTEM, to anything, and administrators, to what a client
// needs, which includes making further instances. It is protected: nothing is inherited. Its owner is SYSTEM or the
// Administrators group, as it names none, and without a mandatory label processes of low integrity cannot write.
// https://learn.microsoft.com/windows/win32/secauthz/security-descriptor-string-format
const Administrators = "D:P(A;;GA;;;SY)(A;;GRGW;;;BA)"

// currentUser returns Administrators plus the user that this process runs as, for a node that belongs to that user.
func currentUser() (string, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return "", fmt.Errorf("cannot find out the user of this process: %w", err)
	}
	return Administrators + "(A;;GRGW;;;" + user.User.Sid.String() + ")", nil
}

// CheckPipeSecurity refuses what is not SDDL, a descriptor without an access list, which would admit everyone, and one
// whose owner clients refuse: they send secrets only to SYSTEM, Administrators and their own user.
func CheckPipeSecurity(sddl string) error {
	_, err := parseSecurity(sddl)
	return err
}

func parseSecurity(sddl string) (*windows.SECURITY_DESCRIPTOR, error) {
	descriptor, err := windows.SecurityDescriptorFromString(sddl)
	if err != nil {
		return nil, fmt.Errorf("%q is not a security descriptor in SDDL, such as %q: %w", sddl, Administrators, err)
	}
	dacl, _, err := descriptor.DACL()
	if errors.Is(err, windows.ERROR_OBJECT_NOT_FOUND) || err == nil && dacl == nil {
		return nil, fmt.Errorf("%q has no access control list (D:…), which would let everybody in", sddl)
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w", sddl, err)
	}
	if owner, _, err := descriptor.Owner(); err == nil && owner != nil {
		user, err := windows.GetCurrentProcessToken().GetTokenUser()
		if err != nil {
			return nil, fmt.Errorf("cannot find out the user of this process: %w", err)
		}
		if !owner.IsWellKnown(windows.WinLocalSystemSid) && !owner.IsWellKnown(windows.WinBuiltinAdministratorsSid) &&
			!owner.Equals(user.User.Sid) {
			return nil, fmt.Errorf("%q names the owner %s, whose pipes clients do not use; leave the owner out, or name "+
				"SYSTEM (O:SY) or Administrators (O:BA)", sddl, owner)
		}
	}
	return descriptor, nil
}
