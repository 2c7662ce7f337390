// SPDX-License-Identifier: Apache-2.0

package win32

import (
	"strconv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
)

// Flags of ISCSI_LOGIN_OPTIONS.InformationSpecified.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/ns-iscsidsc-iscsi_login_options
const (
	ISCSI_LOGIN_OPTIONS_USERNAME  = 0x20
	ISCSI_LOGIN_OPTIONS_PASSWORD  = 0x40
	ISCSI_LOGIN_OPTIONS_AUTH_TYPE = 0x80
)

// ISCSI_ANY_INITIATOR_PORT leaves the choice of the initiator's port to the initiator service.
const ISCSI_ANY_INITIATOR_PORT = 0xFFFFFFFF

// DiscoveryMechanisms is the TARGET_INFORMATION_CLASS of the mechanisms that found a target.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/ne-iscsidsc-target_information_class
const DiscoveryMechanisms = 2

// ParseSendTargets parses the discovery mechanism of a target that a portal named. Microsoft's pages tell no more than
// its first word; NetApp's Get-NaHostIscsiTarget prints "SendTargets:*10.61.169.28 0003260 Root\ISCSIPRT\0000_0".
func ParseSendTargets(text string) (info ISCSITargetPortalInfo, ok bool) {
	rest, ok := strings.CutPrefix(text, "SendTargets:")
	fields := strings.Fields(strings.TrimPrefix(rest, "*"))
	if !ok || len(fields) < 2 {
		return info, false
	}
	port, err := strconv.ParseUint(fields[1], 10, 16)
	info.Portal = ISCSITargetPortal{Address: strings.Trim(fields[0], "[]"), Socket: uint16(port)}
	info.InitiatorName = strings.Join(fields[2:], " ")
	return info, err == nil
}

const (
	maxISCSIText       = 256 // units, the NUL included, of names of initiators, portals and addresses
	maxISCSITargetName = 224 // of names of targets
	maxDevicePath      = 260
)

// ISCSIUniqueID is ISCSI_UNIQUE_SESSION_ID, or ISCSI_UNIQUE_CONNECTION_ID.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/ns-iscsidsc-iscsi_unique_session_id
type ISCSIUniqueID struct {
	AdapterUnique   uint64
	AdapterSpecific uint64
}

// ISCSITargetPortal is ISCSI_TARGET_PORTALW: where a target answers.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/ns-iscsidsc-iscsi_target_portalw
type ISCSITargetPortal struct {
	SymbolicName string
	Address      string // IP address or DNS name
	Socket       uint16 // TCP port
}

// SizeofISCSITargetPortal is the size in bytes of an ISCSI_TARGET_PORTALW.
const SizeofISCSITargetPortal = 1026

// Bytes encodes an ISCSI_TARGET_PORTALW, 1026 bytes.
func (p ISCSITargetPortal) Bytes() []byte {
	b := make(cstruct.Buffer, SizeofISCSITargetPortal)
	b.PutText(0, maxISCSIText, p.SymbolicName) // SymbolicName
	b.PutText(512, maxISCSIText, p.Address)    // Address
	b.PutU16(1024, p.Socket)                   // Socket
	return b
}

// ParseISCSITargetPortal decodes an ISCSI_TARGET_PORTALW.
func ParseISCSITargetPortal(in []byte) (ISCSITargetPortal, error) {
	b, err := cstruct.Need("ISCSI_TARGET_PORTALW", in, SizeofISCSITargetPortal)
	if err != nil {
		return ISCSITargetPortal{}, err
	}
	return portalOf(b)
}

func portalOf(b cstruct.Buffer) (ISCSITargetPortal, error) {
	return ISCSITargetPortal{
		SymbolicName: b.Text(0, maxISCSIText), Address: b.Text(512, maxISCSIText), Socket: b.U16(1024),
	}, nil
}

// ParseISCSITargetPortals decodes count ISCSI_TARGET_PORTALW, as ReportIScsiTargetPortalsW returns them.
func ParseISCSITargetPortals(in []byte, count int) ([]ISCSITargetPortal, error) {
	return cstruct.ParseArray("ISCSI_TARGET_PORTALW", in, count, SizeofISCSITargetPortal, portalOf)
}

// ISCSITargetPortalInfo is ISCSI_TARGET_PORTAL_INFOW: a registered portal, and the initiator that asks it for targets.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/ns-iscsidsc-iscsi_target_portal_infow
type ISCSITargetPortalInfo struct {
	InitiatorName string // empty: the initiator service chooses
	InitiatorPort uint32
	Portal        ISCSITargetPortal
}

// SizeofISCSITargetPortalInfo is the size in bytes of an ISCSI_TARGET_PORTAL_INFOW.
const SizeofISCSITargetPortalInfo = 1544

// ParseISCSITargetPortalInfos decodes count ISCSI_TARGET_PORTAL_INFOW, as ReportIScsiSendTargetPortalsW returns them.
func ParseISCSITargetPortalInfos(in []byte, count int) ([]ISCSITargetPortalInfo, error) {
	const structure = "ISCSI_TARGET_PORTAL_INFOW"
	return cstruct.ParseArray(structure, in, count, SizeofISCSITargetPortalInfo,
		func(b cstruct.Buffer) (ISCSITargetPortalInfo, error) {
			portal, err := portalOf(b[516:])
			return ISCSITargetPortalInfo{InitiatorName: b.Text(0, maxISCSIText), InitiatorPort: b.U32(512), Portal: portal}, err
		})
}

// ISCSIDevice is ISCSI_DEVICE_ON_SESSIONW: a device that an iSCSI session gave the node.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/ns-iscsidsc-iscsi_device_on_sessionw
type ISCSIDevice struct {
	InterfaceName string              // device interface path
	Number        StorageDeviceNumber // DeviceNumber 0xFFFFFFFF: it has none yet
}

// SizeofISCSIDevice is the size in bytes of an ISCSI_DEVICE_ON_SESSIONW.
const SizeofISCSIDevice = 2040

// ParseISCSIDevices decodes count ISCSI_DEVICE_ON_SESSIONW, as GetDevicesForIScsiSessionW returns them.
func ParseISCSIDevices(in []byte, count int) ([]ISCSIDevice, error) {
	const structure = "ISCSI_DEVICE_ON_SESSIONW"
	return cstruct.ParseArray(structure, in, count, SizeofISCSIDevice, func(b cstruct.Buffer) (ISCSIDevice, error) {
		return ISCSIDevice{
			InterfaceName: b.Text(984, maxDevicePath),
			Number:        StorageDeviceNumber{b.U32(2024), b.U32(2028), b.U32(2032)},
		}, nil
	})
}

// PersistentISCSILogin is PERSISTENT_ISCSI_LOGIN_INFOW without options: a login that Windows repeats after each start.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/ns-iscsidsc-persistent_iscsi_login_infow
type PersistentISCSILogin struct {
	TargetName    string
	Initiator     string // InitiatorInstance
	InitiatorPort uint32
	Portal        ISCSITargetPortal
}

// SizeofPersistentISCSILogin is the size of a PERSISTENT_ISCSI_LOGIN_INFOW in bytes.
const SizeofPersistentISCSILogin = 2080

// ParsePersistentISCSILogins decodes count PERSISTENT_ISCSI_LOGIN_INFOW, without following pointers to secrets.
func ParsePersistentISCSILogins(in []byte, count int) ([]PersistentISCSILogin, error) {
	const structure = "PERSISTENT_ISCSI_LOGIN_INFOW"
	return cstruct.ParseArray(structure, in, count, SizeofPersistentISCSILogin,
		func(b cstruct.Buffer) (PersistentISCSILogin, error) {
			portal, err := portalOf(b[968:])
			return PersistentISCSILogin{
				TargetName: b.Text(0, maxISCSITargetName), Initiator: b.Text(450, maxISCSIText),
				InitiatorPort: b.U32(964), Portal: portal,
			}, err
		})
}
