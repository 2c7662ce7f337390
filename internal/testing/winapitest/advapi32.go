// SPDX-License-Identifier: Apache-2.0

//go:build windows

package winapitest

// DisableMaxPrivilege is DISABLE_MAX_PRIVILEGE: the new token has no privilege but SeChangeNotifyPrivilege.
const DisableMaxPrivilege = 0x1

// CreateRestrictedToken makes a token that may do less than an existing one.
//
// https://learn.microsoft.com/windows/win32/api/securitybaseapi/nf-securitybaseapi-createrestrictedtoken
//
//sys	CreateRestrictedToken(existing windows.Token, flags uint32, disableCount uint32, disabled *windows.SIDAndAttributes, deleteCount uint32, deleted *windows.LUIDAndAttributes, restrictCount uint32, restricted *windows.SIDAndAttributes, made *windows.Token) (err error) = advapi32.CreateRestrictedToken

// LogonNetwork is LOGON32_LOGON_NETWORK: a logon as a file server does it.
const LogonNetwork = 3

// LogonUser logs an account on to this machine.
//
// https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-logonuserw
//
//sys	LogonUser(user *uint16, domain *uint16, password *uint16, kind uint32, provider uint32, token *windows.Token) (err error) = advapi32.LogonUserW
