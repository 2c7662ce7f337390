// SPDX-License-Identifier: Apache-2.0

package kernel

import "github.com/kubernetes-csi/csi-proxy/internal/agent/win32"

// ISCSI is the iSCSI initiator service, as iscsidsc.dll offers it. If the service MSiSCSI is not running, all methods
// fail with win32.ISDSC_SERVICE_NOT_RUNNING or a code of the RPC run time. An *Error whose code is a warning
// (win32.Errno.IsISCSIWarning) comes with a result: the call did what was asked.
//
// A portal is an encoded win32.ISCSITargetPortal. Arrays come as the bytes of count structures.
type ISCSI interface {
	// AddISCSISendTargetPortal registers a portal, persistently, for any initiator and with no login options
	// (AddIScsiSendTargetPortalW). ISDSC_TARGET_PORTAL_ALREADY_EXISTS: it is already registered.
	AddISCSISendTargetPortal(portal []byte) error

	// ReportISCSISendTargetPortals lists registered portals: win32.ISCSITargetPortalInfo (ReportIScsiSendTargetPortalsW).
	ReportISCSISendTargetPortals() (portals []byte, count int, err error)

	// RefreshISCSISendTargetPortal asks a registered portal for its targets, with the initiator and port with which the
	// portal was reported (RefreshIScsiSendTargetPortalW). An empty initiator means any.
	RefreshISCSISendTargetPortal(initiator string, initiatorPort uint32, portal []byte) error

	// RemoveISCSISendTargetPortal forgets a registered portal (RemoveIScsiSendTargetPortalW).
	RemoveISCSISendTargetPortal(initiator string, initiatorPort uint32, portal []byte) error

	// ReportISCSITargets lists the names of the targets that discoveries found (ReportIScsiTargetsW).
	ReportISCSITargets() ([]string, error)

	// ReportISCSITargetPortals lists the portals at which a known target answers, for any initiator, as
	// win32.ISCSITargetPortal (ReportIScsiTargetPortalsW).
	ReportISCSITargetPortals(target string) (portals []byte, count int, err error)

	// ISCSIDiscoveryMechanisms lists the mechanisms that found a known target (GetIScsiTargetInformationW with
	// DiscoveryMechanisms): texts that begin with "SendTargets:", "iSNS:" or "HBA:".
	ISCSIDiscoveryMechanisms(target string) ([]string, error)

	// ISCSISessionList lists the sessions, as win32.ISCSISession (GetIScsiSessionListW).
	ISCSISessionList() (ISCSISessions, error)

	// DevicesForISCSISession lists the devices of a session, as win32.ISCSIDevice (GetDevicesForIScsiSessionW).
	DevicesForISCSISession(session win32.ISCSIUniqueID) (devices []byte, count int, err error)

	// ISCSIPersistentLogins lists the logins that Windows repeats after each start, as win32.PersistentISCSILogin
	// (ReportIScsiPersistentLoginsW). The bytes may hold secrets: clear them after use.
	ISCSIPersistentLogins() (logins []byte, count int, err error)

	// RemoveISCSIPersistentTarget forgets a persistent login, given as it was reported (RemoveIScsiPersistentTargetW).
	RemoveISCSIPersistentTarget(initiator string, initiatorPort uint32, target string, portal []byte) error

	// LoginISCSITarget makes a session with a known target, which lasts until a logout or until Windows restarts;
	// Windows then repeats a persistent login (LoginIScsiTargetW, for any initiator, without mappings and keys). The
	// method keeps no part of the login.
	LoginISCSITarget(login ISCSILogin) (session win32.ISCSIUniqueID, err error)

	// LogoutISCSITarget ends a session (LogoutIScsiTarget). ISDSC_DEVICE_BUSY_ON_SESSION: a device of it is in use.
	LogoutISCSITarget(session win32.ISCSIUniqueID) error

	// SetISCSIInitiatorCHAPSharedSecret sets, persistently, the secret by which targets prove themselves to this node
	// in mutual CHAP (SetIScsiInitiatorCHAPSharedSecret).
	SetISCSIInitiatorCHAPSharedSecret(secret Secret) error
}

// ISCSISessions is a buffer filled by GetIScsiSessionListW. It holds pointers into itself, as numbers.
type ISCSISessions struct {
	Buffer []byte
	Base   uint64 // the address of the buffer that the pointers are relative to
	Count  int
}

// ISCSILogin holds the parameters of LoginIScsiTargetW. The fields after Portal are those of ISCSI_LOGIN_OPTIONS.
type ISCSILogin struct {
	Target string
	Portal []byte

	InformationSpecified uint32 // win32.ISCSI_LOGIN_OPTIONS_USERNAME and so on: which of the others count
	AuthType             uint32 // of ISCSI_AUTH_TYPES: 0 none, 1 CHAP, 2 mutual CHAP
	Username             string
	Password             Secret
}
