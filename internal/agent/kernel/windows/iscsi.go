// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"runtime"
	"unsafe"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows/winapi"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// callISCSI makes one call to iscsidsc.dll, whose functions return their status.
func callISCSI(function, object string, call func() (status uint32)) error {
	if winapi.FindISCSI(function) != nil { // a Windows without the initiator, or Wine
		return &kernel.Error{Function: function, Object: object, Code: win32.ERROR_CALL_NOT_IMPLEMENTED}
	}
	if code := win32.ISCSIStatus(call()); code != 0 {
		return &kernel.Error{Function: function, Object: object, Code: code}
	}
	return nil
}

// grownISCSI is grown for a call to iscsidsc.dll.
func grownISCSI(function, object string, unit int, call func(n *uint32, buffer *byte) (status uint32)) ([]byte, error) {
	return filled(function, object, unit, func(n *uint32, buffer *byte) error {
		return callISCSI(function, object, func() uint32 { return call(n, buffer) })
	})
}

// AddISCSISendTargetPortal calls AddIScsiSendTargetPortalW.
func (Kernel) AddISCSISendTargetPortal(portal []byte) error {
	return callISCSI("AddIScsiSendTargetPortalW", "", func() uint32 {
		return winapi.AddIScsiSendTargetPortal(nil, win32.ISCSI_ANY_INITIATOR_PORT, nil, 0, start(portal))
	})
}

// ReportISCSISendTargetPortals calls ReportIScsiSendTargetPortalsW.
func (Kernel) ReportISCSISendTargetPortals() (portals []byte, count int, err error) {
	portals, err = grownISCSI("ReportIScsiSendTargetPortalsW", "", win32.SizeofISCSITargetPortalInfo,
		winapi.ReportIScsiSendTargetPortals)
	return portals, len(portals) / win32.SizeofISCSITargetPortalInfo, err
}

// RefreshISCSISendTargetPortal calls RefreshIScsiSendTargetPortalW.
func (Kernel) RefreshISCSISendTargetPortal(initiator string, initiatorPort uint32, portal []byte) error {
	return callWithPortal("RefreshIScsiSendTargetPortalW", winapi.RefreshIScsiSendTargetPortal, initiator, initiatorPort,
		portal)
}

// RemoveISCSISendTargetPortal calls RemoveIScsiSendTargetPortalW.
func (Kernel) RemoveISCSISendTargetPortal(initiator string, initiatorPort uint32, portal []byte) error {
	return callWithPortal("RemoveIScsiSendTargetPortalW", winapi.RemoveIScsiSendTargetPortal, initiator, initiatorPort,
		portal)
}

// callWithPortal calls a function for a registered portal. For no initiator it passes nil: the service chooses.
func callWithPortal(function string, call func(*uint16, uint32, *byte) uint32, initiator string, port uint32,
	portal []byte) (err error) {
	var initiator16 *uint16
	if initiator != "" {
		if initiator16, err = wide(function, initiator); err != nil {
			return err
		}
	}
	return callISCSI(function, initiator, func() uint32 { return call(initiator16, port, start(portal)) })
}

// ReportISCSITargets calls ReportIScsiTargetsW.
func (Kernel) ReportISCSITargets() ([]string, error) {
	b, err := grownISCSI("ReportIScsiTargetsW", "", bytesOfUnit, func(n *uint32, buffer *byte) uint32 {
		return winapi.ReportIScsiTargets(false, n, characters(buffer))
	})
	return multiStrings(units(b)), err
}

// ReportISCSITargetPortals calls ReportIScsiTargetPortalsW for any initiator.
func (Kernel) ReportISCSITargetPortals(target string) (portals []byte, count int, err error) {
	const function = "ReportIScsiTargetPortalsW"
	target16, err := wide(function, target)
	if err != nil {
		return nil, 0, err
	}
	portals, err = grownISCSI(function, target, win32.SizeofISCSITargetPortal, func(n *uint32, buffer *byte) uint32 {
		return winapi.ReportIScsiTargetPortals(nil, target16, nil, n, buffer)
	})
	return portals, len(portals) / win32.SizeofISCSITargetPortal, err
}

// ISCSIDiscoveryMechanisms calls GetIScsiTargetInformationW with DiscoveryMechanisms.
func (Kernel) ISCSIDiscoveryMechanisms(target string) ([]string, error) {
	const function = "GetIScsiTargetInformationW"
	target16, err := wide(function, target)
	if err != nil {
		return nil, err
	}
	b, err := grownISCSI(function, target, 1, func(n *uint32, buffer *byte) uint32 {
		return winapi.GetIScsiTargetInformation(target16, nil, win32.DiscoveryMechanisms, n, buffer)
	})
	return multiStrings(units(b)), err
}

// SetISCSIInitiatorCHAPSharedSecret calls the function of that name.
func (Kernel) SetISCSIInitiatorCHAPSharedSecret(secret kernel.Secret) error {
	return callISCSI("SetIScsiInitiatorCHAPSharedSecret", "", func() uint32 {
		return winapi.SetIScsiInitiatorCHAPSharedSecret(uint32(len(secret)), start(secret))
	})
}

// RemoveISCSIPersistentTarget calls RemoveIScsiPersistentTargetW.
func (Kernel) RemoveISCSIPersistentTarget(initiator string, initiatorPort uint32, target string, portal []byte) error {
	const function = "RemoveIScsiPersistentTargetW"
	initiator16, err := wide(function, initiator)
	if err != nil {
		return err
	}
	target16, err := wide(function, target)
	if err != nil {
		return err
	}
	return callISCSI(function, target, func() uint32 {
		return winapi.RemoveIScsiPersistentTarget(initiator16, initiatorPort, target16, start(portal))
	})
}

// ISCSISessionList calls GetIScsiSessionListW.
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
func (Kernel) DevicesForISCSISession(session win32.ISCSIUniqueID) (devices []byte, count int, err error) {
	devices, err = grownISCSI("GetDevicesForIScsiSessionW", "", win32.SizeofISCSIDevice,
		func(n *uint32, buffer *byte) uint32 { return winapi.GetDevicesForIScsiSession(&session, n, buffer) })
	return devices, len(devices) / win32.SizeofISCSIDevice, err
}

// ISCSIPersistentLogins calls ReportIScsiPersistentLoginsW.
func (Kernel) ISCSIPersistentLogins() (logins []byte, count int, err error) {
	var n uint32
	logins, err = grownISCSI("ReportIScsiPersistentLoginsW", "", 1, func(size *uint32, buffer *byte) uint32 {
		status := winapi.ReportIScsiPersistentLogins(&n, buffer, size)
		return noLogins(*size, status)
	})
	if len(logins) == 0 {
		n = 0
	}
	return logins, int(n), err
}

// LoginISCSITarget calls LoginIScsiTargetW. The strings of the login options are bytes with a length.
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
	var session, connection win32.ISCSIUniqueID
	err = callISCSI(function, login.Target, func() uint32 {
		return winapi.LoginIScsiTarget(target, false, nil, win32.ISCSI_ANY_INITIATOR_PORT, start(login.Portal),
			0, nil, options, 0, nil, false, &session, &connection)
	})
	return session, err
}

// LogoutISCSITarget calls LogoutIScsiTarget.
func (Kernel) LogoutISCSITarget(session win32.ISCSIUniqueID) error {
	return callISCSI("LogoutIScsiTarget", "", func() uint32 { return winapi.LogoutIScsiTarget(&session) })
}
