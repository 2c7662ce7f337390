// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"errors"

	winio "github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"
)

// EnablePrivilege calls LookupPrivilegeValueW, and AdjustTokenPrivileges on the token of this process. The latter
// succeeds also for a privilege that the token does not have, and tells so by GetLastError, which x/sys drops.
// https://learn.microsoft.com/windows/win32/api/securitybaseapi/nf-securitybaseapi-adjusttokenprivileges
func (Kernel) EnablePrivilege(name string) error {
	const function = "AdjustTokenPrivileges"
	if _, err := wide(function, name); err != nil {
		return err
	}
	err := winio.EnableProcessPrivileges([]string{name})
	if missing := (*winio.PrivilegeError)(nil); errors.As(err, &missing) {
		err = windows.ERROR_NOT_ALL_ASSIGNED
	}
	return failure(function, name, err)
}
