// SPDX-License-Identifier: Apache-2.0

//go:build windows

package winapi

import "github.com/kubernetes-csi/csi-proxy/internal/agent/win32"

// All functions of iscsidsc.dll return the status itself, an ISCSI_STATUS_QUALIFIERS or Win32 code.

// ISCSILoginOptions is ISCSI_LOGIN_OPTIONS. The lengths are in bytes.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/ns-iscsidsc-iscsi_login_options
type ISCSILoginOptions struct {
	Version              uint32 // 0
	InformationSpecified uint32
	LoginFlags           uint32
	AuthType             uint32
	HeaderDigest         uint32
	DataDigest           uint32
	MaximumConnections   uint32
	DefaultTime2Wait     uint32
	DefaultTime2Retain   uint32
	UsernameLength       uint32
	PasswordLength       uint32
	_                    [4]byte
	Username             *byte
	Password             *byte
}

// ISCSIUniqueID is ISCSI_UNIQUE_SESSION_ID and ISCSI_UNIQUE_CONNECTION_ID.
type ISCSIUniqueID = win32.ISCSIUniqueID

// FindISCSI returns an error if this Windows lacks a function of iscsidsc.dll; calling that function would panic.
func FindISCSI(function string) error { return modiscsidsc.NewProc(function).Find() }

// AddIScsiSendTargetPortal registers a portal for discovery.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-addiscsisendtargetportalw
//sys	AddIScsiSendTargetPortal(initiator *uint16, port uint32, options *ISCSILoginOptions, securityFlags uint64, portal *byte) (status uint32) = iscsidsc.AddIScsiSendTargetPortalW

// RefreshIScsiSendTargetPortal asks a registered portal for its targets.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-refreshiscsisendtargetportalw
//sys	RefreshIScsiSendTargetPortal(initiator *uint16, port uint32, portal *byte) (status uint32) = iscsidsc.RefreshIScsiSendTargetPortalW

// RemoveIScsiSendTargetPortal forgets a registered portal.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-removeiscsisendtargetportalw
//sys	RemoveIScsiSendTargetPortal(initiator *uint16, port uint32, portal *byte) (status uint32) = iscsidsc.RemoveIScsiSendTargetPortalW

// ReportIScsiSendTargetPortals lists the registered portals. The count is of structures, in and out.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-reportiscsisendtargetportalsw
//sys	ReportIScsiSendTargetPortals(count *uint32, portals *byte) (status uint32) = iscsidsc.ReportIScsiSendTargetPortalsW

// ReportIScsiTargets lists the known targets as a MULTI_SZ. The size is in characters, in and out.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-reportiscsitargetsw
//sys	ReportIScsiTargets(forceUpdate bool, size *uint32, targets *uint16) (status uint32) = iscsidsc.ReportIScsiTargetsW

// ReportIScsiTargetPortals lists the portals of a target. The count is of structures, in and out.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-reportiscsitargetportalsw
//sys	ReportIScsiTargetPortals(initiator *uint16, target *uint16, tag *uint16, count *uint32, portals *byte) (status uint32) = iscsidsc.ReportIScsiTargetPortalsW

// GetIScsiTargetInformation retrieves information about a target. The size is in bytes, in and out.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-getiscsitargetinformationw
//sys	GetIScsiTargetInformation(target *uint16, mechanism *uint16, class uint32, size *uint32, information *byte) (status uint32) = iscsidsc.GetIScsiTargetInformationW

// GetIScsiSessionList lists the sessions. The size is in bytes, in and out.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-getiscsisessionlistw
//sys	GetIScsiSessionList(size *uint32, count *uint32, sessions *byte) (status uint32) = iscsidsc.GetIScsiSessionListW

// GetDevicesForIScsiSession lists the devices of a session. The count is of structures, in and out.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-getdevicesforiscsisessionw
//sys	GetDevicesForIScsiSession(session *ISCSIUniqueID, count *uint32, devices *byte) (status uint32) = iscsidsc.GetDevicesForIScsiSessionW

// ReportIScsiPersistentLogins lists the persistent logins. The size is in bytes, in and out.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-reportiscsipersistentloginsw
//sys	ReportIScsiPersistentLogins(count *uint32, logins *byte, size *uint32) (status uint32) = iscsidsc.ReportIScsiPersistentLoginsW

// RemoveIScsiPersistentTarget forgets a persistent login.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-removeiscsipersistenttargetw
//sys	RemoveIScsiPersistentTarget(initiator *uint16, port uint32, target *uint16, portal *byte) (status uint32) = iscsidsc.RemoveIScsiPersistentTargetW

// LoginIScsiTarget makes a session with a target.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-loginiscsitargetw
//sys	LoginIScsiTarget(target *uint16, informational bool, initiator *uint16, port uint32, portal *byte, securityFlags uint64, mappings *byte, options *ISCSILoginOptions, keySize uint32, key *byte, persistent bool, session *ISCSIUniqueID, connection *ISCSIUniqueID) (status uint32) = iscsidsc.LoginIScsiTargetW

// LogoutIScsiTarget ends a session.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-logoutiscsitarget
//sys	LogoutIScsiTarget(session *ISCSIUniqueID) (status uint32) = iscsidsc.LogoutIScsiTarget

// SetIScsiInitiatorCHAPSharedSecret sets the secret by which targets prove themselves. The length is in bytes.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-setiscsiinitiatorchapsharedsecret
//sys	SetIScsiInitiatorCHAPSharedSecret(length uint32, secret *byte) (status uint32) = iscsidsc.SetIScsiInitiatorCHAPSharedSecret
