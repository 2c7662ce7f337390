// SPDX-License-Identifier: Apache-2.0

//go:build windows

package winapi

import "unsafe"

// All functions of iscsidsc.dll return the status itself, an ISCSI_STATUS_QUALIFIERS or Win32 code.

// ISCSILoginOptions is ISCSI_LOGIN_OPTIONS. The lengths are in bytes.
//
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

// The layout that C compilers give the structure.
var (
	_ [64]byte = [unsafe.Sizeof(ISCSILoginOptions{})]byte{}
	_ [12]byte = [unsafe.Offsetof(ISCSILoginOptions{}.AuthType)]byte{}
	_ [36]byte = [unsafe.Offsetof(ISCSILoginOptions{}.UsernameLength)]byte{}
	_ [40]byte = [unsafe.Offsetof(ISCSILoginOptions{}.PasswordLength)]byte{}
	_ [48]byte = [unsafe.Offsetof(ISCSILoginOptions{}.Username)]byte{}
	_ [56]byte = [unsafe.Offsetof(ISCSILoginOptions{}.Password)]byte{}
)

// ISCSIUniqueID is ISCSI_UNIQUE_SESSION_ID and ISCSI_UNIQUE_CONNECTION_ID.
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/ns-iscsidsc-iscsi_unique_session_id
type ISCSIUniqueID struct {
	AdapterUnique   uint64
	AdapterSpecific uint64
}

// FindISCSI returns an error if this Windows lacks a function of iscsidsc.dll; calling that function would panic.
func FindISCSI(function string) error { return modiscsidsc.NewProc(function).Find() }

// AddIScsiSendTargetPortal registers a portal for discovery.
//
//	ISDSC_STATUS ISDSC_API AddIScsiSendTargetPortalW(
//	  [in, optional] PWSTR                   InitiatorInstance,
//	  [in]           ULONG                   InitiatorPortNumber,
//	  [in, optional] PISCSI_LOGIN_OPTIONS    LoginOptions,
//	  [in, optional] ISCSI_SECURITY_FLAGS    SecurityFlags,
//	  [in]           PISCSI_TARGET_PORTALW   Portal
//	);
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-addiscsisendtargetportalw
//
//sys	AddIScsiSendTargetPortal(initiator *uint16, port uint32, options *ISCSILoginOptions, securityFlags uint64, portal *byte) (status uint32) = iscsidsc.AddIScsiSendTargetPortalW

// RefreshIScsiSendTargetPortal asks a registered portal for its targets.
//
//	ISDSC_STATUS ISDSC_API RefreshIScsiSendTargetPortalW(
//	  [in, optional] PWSTR                   InitiatorInstance,
//	  [in]           ULONG                   InitiatorPortNumber,
//	  [in]           PISCSI_TARGET_PORTALW   Portal
//	);
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-refreshiscsisendtargetportalw
//
//sys	RefreshIScsiSendTargetPortal(initiator *uint16, port uint32, portal *byte) (status uint32) = iscsidsc.RefreshIScsiSendTargetPortalW

// RemoveIScsiSendTargetPortal forgets a registered portal.
//
//	ISDSC_STATUS ISDSC_API RemoveIScsiSendTargetPortalW(
//	  [in, optional] PWSTR                   InitiatorInstance,
//	  [in]           ULONG                   InitiatorPortNumber,
//	  [in]           PISCSI_TARGET_PORTALW   Portal
//	);
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-removeiscsisendtargetportalw
//
//sys	RemoveIScsiSendTargetPortal(initiator *uint16, port uint32, portal *byte) (status uint32) = iscsidsc.RemoveIScsiSendTargetPortalW

// ReportIScsiSendTargetPortals lists the registered portals. The count is of structures, in and out.
//
//	ISDSC_STATUS ISDSC_API ReportIScsiSendTargetPortalsW(
//	  [in, out] PULONG                       PortalCount,
//	  [out]     PISCSI_TARGET_PORTAL_INFOW   PortalInfo
//	);
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-reportiscsisendtargetportalsw
//
//sys	ReportIScsiSendTargetPortals(count *uint32, portals *byte) (status uint32) = iscsidsc.ReportIScsiSendTargetPortalsW

// ReportIScsiTargets lists the known targets as a MULTI_SZ. The size is in characters, in and out.
//
//	ISDSC_STATUS ISDSC_API ReportIScsiTargetsW(
//	  [in]      BOOLEAN ForceUpdate,
//	  [in, out] PULONG  BufferSize,
//	  [out]     PWSTR   Buffer
//	);
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-reportiscsitargetsw
//
//sys	ReportIScsiTargets(forceUpdate bool, size *uint32, targets *uint16) (status uint32) = iscsidsc.ReportIScsiTargetsW

// ReportIScsiTargetPortals lists the portals of a target. The count is of structures, in and out.
//
//	ISDSC_STATUS ISDSC_API ReportIScsiTargetPortalsW(
//	  [in, optional] PWSTR                   InitiatorName,
//	  [in]           PWSTR                   TargetName,
//	  [in, optional] PUSHORT                 TargetPortalTag,
//	  [in, out]      PULONG                  ElementCount,
//	  [out]          PISCSI_TARGET_PORTALW   Portals
//	);
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-reportiscsitargetportalsw
//
//sys	ReportIScsiTargetPortals(initiator *uint16, target *uint16, tag *uint16, count *uint32, portals *byte) (status uint32) = iscsidsc.ReportIScsiTargetPortalsW

// GetIScsiTargetInformation retrieves information about a target. The size is in bytes, in and out.
//
//	ISDSC_STATUS ISDSC_API GetIScsiTargetInformationW(
//	  [in]           PWSTR                    TargetName,
//	  [in, optional] PWSTR                    DiscoveryMechanism,
//	  [in]           TARGET_INFORMATION_CLASS InfoClass,
//	  [in, out]      PULONG                   BufferSize,
//	  [out]          PVOID                    Buffer
//	);
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-getiscsitargetinformationw
//
//sys	GetIScsiTargetInformation(target *uint16, mechanism *uint16, class uint32, size *uint32, information *byte) (status uint32) = iscsidsc.GetIScsiTargetInformationW

// GetIScsiSessionList lists the sessions. The size is in bytes, in and out.
//
//	ISDSC_STATUS ISDSC_API GetIScsiSessionListW(
//	  [in, out] ULONG                 *BufferSize,
//	  [out]     ULONG                 *SessionCount,
//	  [out]     PISCSI_SESSION_INFOW  SessionInfo
//	);
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-getiscsisessionlistw
//
//sys	GetIScsiSessionList(size *uint32, count *uint32, sessions *byte) (status uint32) = iscsidsc.GetIScsiSessionListW

// GetDevicesForIScsiSession lists the devices of a session. The count is of structures, in and out.
//
//	ISDSC_STATUS ISDSC_API GetDevicesForIScsiSessionW(
//	  [in]      PISCSI_UNIQUE_SESSION_ID   UniqueSessionId,
//	  [in, out] ULONG                      *DeviceCount,
//	  [out]     PISCSI_DEVICE_ON_SESSIONW  Devices
//	);
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-getdevicesforiscsisessionw
//
//sys	GetDevicesForIScsiSession(session *ISCSIUniqueID, count *uint32, devices *byte) (status uint32) = iscsidsc.GetDevicesForIScsiSessionW

// ReportIScsiPersistentLogins lists the persistent logins. The size is in bytes, in and out.
//
//	ISDSC_STATUS ISDSC_API ReportIScsiPersistentLoginsW(
//	  [out]     ULONG                           *Count,
//	  [out]     PPERSISTENT_ISCSI_LOGIN_INFOW   PersistentLoginInfo,
//	  [in, out] ULONG                           *BufferSizeInBytes
//	);
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-reportiscsipersistentloginsw
//
//sys	ReportIScsiPersistentLogins(count *uint32, logins *byte, size *uint32) (status uint32) = iscsidsc.ReportIScsiPersistentLoginsW

// RemoveIScsiPersistentTarget forgets a persistent login.
//
//	ISDSC_STATUS ISDSC_API RemoveIScsiPersistentTargetW(
//	  [in] PWSTR                   InitiatorInstance,
//	  [in] ULONG                   InitiatorPortNumber,
//	  [in] PWSTR                   TargetName,
//	  [in] PISCSI_TARGET_PORTALW   Portal
//	);
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-removeiscsipersistenttargetw
//
//sys	RemoveIScsiPersistentTarget(initiator *uint16, port uint32, target *uint16, portal *byte) (status uint32) = iscsidsc.RemoveIScsiPersistentTargetW

// LoginIScsiTarget makes a session with a target.
//
//	ISDSC_STATUS ISDSC_API LoginIScsiTargetW(
//	  [in]           PWSTR                        TargetName,
//	  [in]           BOOLEAN                      IsInformationalSession,
//	  [in, optional] PWSTR                        InitiatorInstance,
//	  [in]           ULONG                        InitiatorPortNumber,
//	  [in]           PISCSI_TARGET_PORTALW        TargetPortal,
//	  [in]           ISCSI_SECURITY_FLAGS         SecurityFlags,
//	  [in]           PISCSI_TARGET_MAPPINGW       Mappings,
//	  [in, optional] PISCSI_LOGIN_OPTIONS         LoginOptions,
//	  [in]           ULONG                        KeySize,
//	  [in]           PCHAR                        Key,
//	  [in]           BOOLEAN                      IsPersistent,
//	  [out]          PISCSI_UNIQUE_SESSION_ID     UniqueSessionId,
//	  [out]          PISCSI_UNIQUE_CONNECTION_ID  UniqueConnectionId
//	);
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-loginiscsitargetw
//
//sys	LoginIScsiTarget(target *uint16, informational bool, initiator *uint16, port uint32, portal *byte, securityFlags uint64, mappings *byte, options *ISCSILoginOptions, keySize uint32, key *byte, persistent bool, session *ISCSIUniqueID, connection *ISCSIUniqueID) (status uint32) = iscsidsc.LoginIScsiTargetW

// LogoutIScsiTarget ends a session.
//
//	ISDSC_STATUS ISDSC_API LogoutIScsiTarget(
//	  [in] PISCSI_UNIQUE_SESSION_ID UniqueSessionId
//	);
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-logoutiscsitarget
//
//sys	LogoutIScsiTarget(session *ISCSIUniqueID) (status uint32) = iscsidsc.LogoutIScsiTarget

// SetIScsiInitiatorCHAPSharedSecret sets the secret by which targets prove themselves. The length is in bytes.
//
//	ISDSC_STATUS ISDSC_API SetIScsiInitiatorCHAPSharedSecret(
//	  [in] ULONG   SharedSecretLength,
//	  [in] PUCHAR  SharedSecret
//	);
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-setiscsiinitiatorchapsharedsecret
//
//sys	SetIScsiInitiatorCHAPSharedSecret(length uint32, secret *byte) (status uint32) = iscsidsc.SetIScsiInitiatorCHAPSharedSecret
