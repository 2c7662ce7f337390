// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"errors"
	"slices"
	"unsafe"

	"golang.org/x/sys/windows"
)

// EnablePrivilege calls AdjustTokenPrivileges on the token of this process. That succeeds also for a privilege that the
// token does not have, and tells so only by GetLastError, which x/sys drops; the token itself is asked instead.
//
// https://learn.microsoft.com/windows/win32/api/securitybaseapi/nf-securitybaseapi-adjusttokenprivileges
func (Kernel) EnablePrivilege(name string) error {
	const adjust = "AdjustTokenPrivileges"
	wanted, err := wide("LookupPrivilegeValueW", name)
	if err != nil {
		return err
	}
	var luid windows.LUID
	if err := windows.LookupPrivilegeValue(nil, wanted, &luid); err != nil {
		return failure("LookupPrivilegeValueW", name, err)
	}
	var token windows.Token
	if err := windows.OpenProcessToken(windows.CurrentProcess(),
		windows.TOKEN_ADJUST_PRIVILEGES|windows.TOKEN_QUERY, &token); err != nil {
		return failure("OpenProcessToken", name, err)
	}
	defer func() { _ = token.Close() }()

	enable := windows.Tokenprivileges{
		PrivilegeCount: 1, Privileges: [1]windows.LUIDAndAttributes{{Luid: luid, Attributes: windows.SE_PRIVILEGE_ENABLED}},
	}
	if err := windows.AdjustTokenPrivileges(token, false, &enable, 0, nil, nil); err != nil {
		return failure(adjust, name, err)
	}
	held, err := privileges(token)
	if err != nil {
		return failure("GetTokenInformation", name, err)
	}
	if !slices.ContainsFunc(held, func(p windows.LUIDAndAttributes) bool {
		return p.Luid == luid && p.Attributes&windows.SE_PRIVILEGE_ENABLED != 0
	}) {
		return failure(adjust, name, windows.ERROR_NOT_ALL_ASSIGNED)
	}
	return nil
}

// privileges calls GetTokenInformation with a buffer of the size that it asks for.
//
// https://learn.microsoft.com/windows/win32/api/securitybaseapi/nf-securitybaseapi-gettokeninformation
func privileges(token windows.Token) ([]windows.LUIDAndAttributes, error) {
	size := uint32(unsafe.Sizeof(windows.Tokenprivileges{}))
	for range growRounds {
		buffer := make([]uint32, (size+3)/4) // aligned as the structure is
		length := uint32(len(buffer) * 4)
		err := windows.GetTokenInformation(token, windows.TokenPrivileges, (*byte)(unsafe.Pointer(&buffer[0])), length, &size)
		if errors.Is(err, windows.ERROR_INSUFFICIENT_BUFFER) && size > length {
			continue
		}
		if err != nil {
			return nil, err
		}
		list := (*windows.Tokenprivileges)(unsafe.Pointer(&buffer[0])).AllPrivileges()
		return slices.Clone(list[:min(len(list), (int(length)-4)/int(unsafe.Sizeof(windows.LUIDAndAttributes{})))]), nil
	}
	return nil, windows.ERROR_INSUFFICIENT_BUFFER
}
