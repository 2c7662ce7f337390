// SPDX-License-Identifier: Apache-2.0

//go:build windows

package winapitest

import "golang.org/x/sys/windows"

// All functions here return the status itself, a NET_API_STATUS: a Win32 code or one from lmerr.h.

// Values of USER_INFO_1: the user's privilege and the account's flags.
const (
	UserPrivUser      = 1       // USER_PRIV_USER
	UserScript        = 0x0001  // UF_SCRIPT
	UserNormalAccount = 0x0200  // UF_NORMAL_ACCOUNT
	UserPasswordStays = 0x10000 // UF_DONT_EXPIRE_PASSWD
)

// UserNotFound is NERR_UserNotFound, the status of NetUserGetInfo for an account that does not exist; ShareNotFound is
// NERR_NetNameNotFound, that of NetShareGetInfo for such a share.
const (
	UserNotFound  = 2221
	ShareNotFound = 2310
)

// ShareDiskTree is a share of a directory, STYPE_DISKTREE.
const ShareDiskTree = 0

// ShareEncryptData is SHI1005_FLAGS_ENCRYPT_DATA: the server refuses clients that do not encrypt.
//
// https://learn.microsoft.com/openspecs/windows_protocols/ms-srvs/8a481783-9c6e-4f17-99d1-aea6578e21fb
const ShareEncryptData = 0x8000

// UserInfo1 is USER_INFO_1.
//
// https://learn.microsoft.com/windows/win32/api/lmaccess/ns-lmaccess-user_info_1
type UserInfo1 struct {
	Name        *uint16
	Password    *uint16
	PasswordAge uint32
	Priv        uint32
	HomeDir     *uint16
	Comment     *uint16
	Flags       uint32
	_           [4]byte
	ScriptPath  *uint16
}

// ShareInfo502 is SHARE_INFO_502.
//
// https://learn.microsoft.com/windows/win32/api/lmshare/ns-lmshare-share_info_502
type ShareInfo502 struct {
	NetName            *uint16
	Type               uint32
	_                  [4]byte
	Remark             *uint16
	Permissions        uint32
	MaxUses            uint32
	CurrentUses        uint32
	_                  [4]byte
	Path               *uint16
	Password           *uint16
	Reserved           uint32
	_                  [4]byte
	SecurityDescriptor *windows.SECURITY_DESCRIPTOR
}

// ShareInfo1005 is SHARE_INFO_1005.
//
// https://learn.microsoft.com/windows/win32/api/lmshare/ns-lmshare-share_info_1005
type ShareInfo1005 struct {
	Flags uint32
}

// NetUserAdd makes a local account.
//
// https://learn.microsoft.com/windows/win32/api/lmaccess/nf-lmaccess-netuseradd
//
//sys	NetUserAdd(server *uint16, level uint32, info *UserInfo1, badParameter *uint32) (status uint32) = netapi32.NetUserAdd

// NetUserDel removes a local account.
//
// https://learn.microsoft.com/windows/win32/api/lmaccess/nf-lmaccess-netuserdel
//
//sys	NetUserDel(server *uint16, name *uint16) (status uint32) = netapi32.NetUserDel

// NetShareAdd shares a directory.
//
// https://learn.microsoft.com/windows/win32/api/lmshare/nf-lmshare-netshareadd
//
//sys	NetShareAdd(server *uint16, level uint32, info *ShareInfo502, badParameter *uint32) (status uint32) = netapi32.NetShareAdd

// NetShareGetInfo describes a share. The structure is to be freed with NetApiBufferFree.
//
// https://learn.microsoft.com/windows/win32/api/lmshare/nf-lmshare-netsharegetinfo
//
//sys	NetShareGetInfo(server *uint16, name *uint16, level uint32, info **ShareInfo502) (status uint32) = netapi32.NetShareGetInfo

// NetShareSetInfo changes a share.
//
// https://learn.microsoft.com/windows/win32/api/lmshare/nf-lmshare-netsharesetinfo
//
//sys	NetShareSetInfo(server *uint16, name *uint16, level uint32, info *ShareInfo1005, badParameter *uint32) (status uint32) = netapi32.NetShareSetInfo

// NetShareDel ends the sharing of a directory.
//
// https://learn.microsoft.com/windows/win32/api/lmshare/nf-lmshare-netsharedel
//
//sys	NetShareDel(server *uint16, name *uint16, reserved uint32) (status uint32) = netapi32.NetShareDel

// NetSessionDel ends the sessions of a server: without a client, all of a user.
//
// https://learn.microsoft.com/windows/win32/api/lmshare/nf-lmshare-netsessiondel
//
//sys	NetSessionDel(server *uint16, client *uint16, user *uint16) (status uint32) = netapi32.NetSessionDel
