// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"runtime"
	"unsafe"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/windows/winapi"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// characters returns a pointer to the UTF-16 units in a buffer of bytes.
func characters(b *byte) *uint16 { return (*uint16)(unsafe.Pointer(b)) }

// units returns the UTF-16 units in a buffer of bytes.
func units(b []byte) []uint16 {
	if len(b) < 2 {
		return nil
	}
	return unsafe.Slice(characters(&b[0]), len(b)/2)
}

// ISCSISessionList calls GetIScsiSessionListW.
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-getiscsisessionlistw
func (Kernel) ISCSISessionList() (kernel.ISCSISessions, error) {
	var count uint32
	b, err := grownISCSI("GetIScsiSessionListW", "", 1, func(n *uint32, buffer *byte) uint32 {
		return winapi.GetIScsiSessionList(n, &count, buffer)
	})
	if len(b) == 0 {
		count = 0
	}
	// the address that Windows wrote to; its pointers lead into b
	base := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
	return kernel.ISCSISessions{Buffer: b, Base: base, Count: int(count)}, err
}

// DevicesForISCSISession calls GetDevicesForIScsiSessionW.
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-getdevicesforiscsisessionw
func (Kernel) DevicesForISCSISession(session win32.ISCSIUniqueID) (devices []byte, count int, err error) {
	id := winapi.ISCSIUniqueID(session)
	devices, err = grownISCSI("GetDevicesForIScsiSessionW", "", win32.SizeofISCSIDevice,
		func(n *uint32, buffer *byte) uint32 {
			return winapi.GetDevicesForIScsiSession(&id, n, buffer)
		})
	return devices, len(devices) / win32.SizeofISCSIDevice, err
}

// ISCSIPersistentLogins calls ReportIScsiPersistentLoginsW.
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-reportiscsipersistentloginsw
func (Kernel) ISCSIPersistentLogins() (logins []byte, count int, err error) {
	var n uint32
	logins, err = grownISCSI("ReportIScsiPersistentLoginsW", "", 1, func(size *uint32, buffer *byte) uint32 {
		return winapi.ReportIScsiPersistentLogins(&n, buffer, size)
	})
	if len(logins) == 0 {
		n = 0
	}
	return logins, int(n), err
}

// LoginISCSITarget calls LoginIScsiTargetW. The strings of the login options are bytes with a length.
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-loginiscsitargetw
func (Kernel) LoginISCSITarget(login kernel.ISCSILogin) (win32.ISCSIUniqueID, error) {
	const function = "LoginIScsiTargetW"
	target, err := wide(function, login.Target)
	if err != nil {
		return win32.ISCSIUniqueID{}, err
	}
	var pinned runtime.Pinner
	defer pinned.Unpin()
	user := []byte(login.Username)
	options := &winapi.ISCSILoginOptions{
		InformationSpecified: login.InformationSpecified, AuthType: login.AuthType,
		UsernameLength: uint32(len(user)), Username: start(user),
		PasswordLength: uint32(len(login.Password)), Password: start(login.Password),
	}
	for _, p := range []*byte{options.Username, options.Password} {
		if p != nil {
			pinned.Pin(p)
		}
	}
	var session, connection winapi.ISCSIUniqueID
	err = callISCSI(function, login.Target, func() uint32 {
		return winapi.LoginIScsiTarget(target, false, nil, win32.ISCSI_ANY_INITIATOR_PORT, start(login.Portal),
			0, nil, options, 0, nil,
			false, &session, &connection)
	})
	return win32.ISCSIUniqueID(session), err
}

// LogoutISCSITarget calls LogoutIScsiTarget.
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-logoutiscsitarget
func (Kernel) LogoutISCSITarget(session win32.ISCSIUniqueID) error {
	id := winapi.ISCSIUniqueID(session)
	return callISCSI("LogoutIScsiTarget", "", func() uint32 { return winapi.LogoutIScsiTarget(&id) })
}
