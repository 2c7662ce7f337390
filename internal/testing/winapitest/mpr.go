// SPDX-License-Identifier: Apache-2.0

//go:build windows

package winapitest

// Flags of WNetAddConnection3W. The first two are in Windows' metadata and on no page of the function.
const (
	ConnectRequirePrivacy = 0x00008000 // CONNECT_REQUIRE_PRIVACY
	ConnectGlobalMapping  = 0x00040000 // CONNECT_GLOBAL_MAPPING
	ResourceTypeDisk      = 1          // RESOURCETYPE_DISK, of NETRESOURCEW
)

// NetResource is NETRESOURCEW.
//
// https://learn.microsoft.com/windows/win32/api/winnetwk/ns-winnetwk-netresourcew
type NetResource struct {
	Scope       uint32
	Type        uint32
	DisplayType uint32
	Usage       uint32
	LocalName   *uint16
	RemoteName  *uint16
	Comment     *uint16
	Provider    *uint16
}

// WNetAddConnection3 connects to a share. It returns the status itself, a Win32 code.
//
// https://learn.microsoft.com/windows/win32/api/winnetwk/nf-winnetwk-wnetaddconnection3w
//
//sys	WNetAddConnection3(owner uintptr, resource *NetResource, password *uint16, user *uint16, flags uint32) (status uint32) = mpr.WNetAddConnection3W
