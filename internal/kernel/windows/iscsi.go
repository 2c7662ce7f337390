// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"errors"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/windows/winapi"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
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
	b, err := grown(unit, func(n *uint32, buffer []byte) error {
		return callISCSI(function, object, func() uint32 { return call(n, start(buffer)) })
	})
	var code win32.Errno
	if errors.As(err, &code) {
		err = &kernel.Error{Function: function, Object: object, Code: code}
	}
	return b, err
}

// optionalInitiator converts the name of an initiator for a parameter that is optional. An empty name leaves the choice
// to the service, for which the pages name a null pointer and no other value.
func optionalInitiator(function, name string) (*uint16, error) {
	if name == "" {
		return nil, nil
	}
	return wide(function, name)
}

// AddISCSISendTargetPortal calls AddIScsiSendTargetPortalW.
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-addiscsisendtargetportalw
func (Kernel) AddISCSISendTargetPortal(portal []byte) error {
	return callISCSI("AddIScsiSendTargetPortalW", "", func() uint32 {
		return winapi.AddIScsiSendTargetPortal(nil, win32.ISCSI_ANY_INITIATOR_PORT, nil, 0, start(portal))
	})
}

// ReportISCSISendTargetPortals calls ReportIScsiSendTargetPortalsW.
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-reportiscsisendtargetportalsw
func (Kernel) ReportISCSISendTargetPortals() (portals []byte, count int, err error) {
	portals, err = grownISCSI("ReportIScsiSendTargetPortalsW", "", win32.SizeofISCSITargetPortalInfo,
		winapi.ReportIScsiSendTargetPortals)
	return portals, len(portals) / win32.SizeofISCSITargetPortalInfo, err
}

// RefreshISCSISendTargetPortal calls RefreshIScsiSendTargetPortalW.
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-refreshiscsisendtargetportalw
func (Kernel) RefreshISCSISendTargetPortal(initiator string, initiatorPort uint32, portal []byte) error {
	const function = "RefreshIScsiSendTargetPortalW"
	initiator16, err := optionalInitiator(function, initiator)
	if err != nil {
		return err
	}
	return callISCSI(function, initiator, func() uint32 {
		return winapi.RefreshIScsiSendTargetPortal(initiator16, initiatorPort, start(portal))
	})
}

// RemoveISCSISendTargetPortal calls RemoveIScsiSendTargetPortalW.
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-removeiscsisendtargetportalw
func (Kernel) RemoveISCSISendTargetPortal(initiator string, initiatorPort uint32, portal []byte) error {
	const function = "RemoveIScsiSendTargetPortalW"
	initiator16, err := optionalInitiator(function, initiator)
	if err != nil {
		return err
	}
	return callISCSI(function, initiator, func() uint32 {
		return winapi.RemoveIScsiSendTargetPortal(initiator16, initiatorPort, start(portal))
	})
}

// ReportISCSITargets calls ReportIScsiTargetsW.
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-reportiscsitargetsw
func (Kernel) ReportISCSITargets() ([]string, error) {
	const unit = 2 // bytes a character
	b, err := grownISCSI("ReportIScsiTargetsW", "", unit, func(n *uint32, buffer *byte) uint32 {
		return winapi.ReportIScsiTargets(false, n, characters(buffer))
	})
	return multiStrings(units(b)), err
}

// ReportISCSITargetPortals calls ReportIScsiTargetPortalsW for any initiator.
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-reportiscsitargetportalsw
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
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-getiscsitargetinformationw
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
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-setiscsiinitiatorchapsharedsecret
func (Kernel) SetISCSIInitiatorCHAPSharedSecret(secret kernel.Secret) error {
	return callISCSI("SetIScsiInitiatorCHAPSharedSecret", "", func() uint32 {
		return winapi.SetIScsiInitiatorCHAPSharedSecret(uint32(len(secret)), start(secret))
	})
}

// RemoveISCSIPersistentTarget calls RemoveIScsiPersistentTargetW.
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-removeiscsipersistenttargetw
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
