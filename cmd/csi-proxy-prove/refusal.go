// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"syscall"
)

// refusals are codes by which Windows refuses to start or to read a program, as a policy or a scanner of viruses wants
// it.
// https://learn.microsoft.com/windows/win32/debug/system-error-codes
var refusals = map[syscall.Errno]string{
	225: "a scanner of viruses took it for a virus (ERROR_VIRUS_INFECTED): compare the kit's SHA-256 with the " +
		"release's, then allow it there",
	1260: "a group policy, such as AppLocker's, forbids it (ERROR_ACCESS_DISABLED_BY_POLICY): allow it there, or take " +
		"another machine",
	4551: "Smart App Control or App Control for Business forbids what is not signed " +
		"(ERROR_SYSTEM_INTEGRITY_POLICY_VIOLATION): take another machine",
}

// inWords adds to an error what its code means for the kit's user.
func inWords(err error) error {
	var code syscall.Errno
	if errors.As(err, &code) {
		if text := refusals[code]; text != "" {
			return fmt.Errorf("%w: %s", err, text)
		}
	}
	return err
}
