// SPDX-License-Identifier: Apache-2.0

package win32

import (
	"strconv"
	"strings"

	"github.com/Microsoft/go-winio/pkg/guid"
)

// Flags of ISCSI_LOGIN_OPTIONS.InformationSpecified, and the values of ISCSI_AUTH_TYPES.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/ns-iscsidsc-iscsi_login_options
const (
	ISCSI_LOGIN_OPTIONS_USERNAME  = 0x20
	ISCSI_LOGIN_OPTIONS_PASSWORD  = 0x40
	ISCSI_LOGIN_OPTIONS_AUTH_TYPE = 0x80

	ISCSI_NO_AUTH_TYPE          = 0
	ISCSI_CHAP_AUTH_TYPE        = 1
	ISCSI_MUTUAL_CHAP_AUTH_TYPE = 2
)

// ISCSI_ANY_INITIATOR_PORT leaves the choice of the initiator's port to the initiator service.
const ISCSI_ANY_INITIATOR_PORT = 0xFFFFFFFF

// DiscoveryMechanisms is the TARGET_INFORMATION_CLASS of the mechanisms that found a target.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/ne-iscsidsc-target_information_class
const DiscoveryMechanisms = 2

// ParseSendTargets parses the discovery mechanism of a target that a portal named. Microsoft's pages tell no more than
// its first word. NetApp's cmdlet Get-NaHostIscsiTarget prints "SendTargets:*10.61.169.28 0003260
// Root\ISCSIPRT\0000_0".
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

// Bytes encodes an ISCSI_UNIQUE_SESSION_ID, 16 bytes.
func (i ISCSIUniqueID) Bytes() []byte { return encode(i) }

// ParseISCSIUniqueID decodes an ISCSI_UNIQUE_SESSION_ID.
func ParseISCSIUniqueID(in []byte) (ISCSIUniqueID, error) {
	return parse[ISCSIUniqueID]("ISCSI_UNIQUE_SESSION_ID", in, 16)
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
	b := make(buffer, SizeofISCSITargetPortal)
	p.put(b)
	return b
}

func (p ISCSITargetPortal) put(b buffer) {
	b.putText(0, maxISCSIText, p.SymbolicName) // SymbolicName
	b.putText(512, maxISCSIText, p.Address)    // Address
	b.putU16(1024, p.Socket)                   // Socket
}

// ParseISCSITargetPortal decodes an ISCSI_TARGET_PORTALW.
func ParseISCSITargetPortal(in []byte) (ISCSITargetPortal, error) {
	b, err := need("ISCSI_TARGET_PORTALW", in, SizeofISCSITargetPortal)
	if err != nil {
		return ISCSITargetPortal{}, err
	}
	return ISCSITargetPortal{
		SymbolicName: b.text(0, maxISCSIText), Address: b.text(512, maxISCSIText), Socket: b.u16(1024),
	}, nil
}

// ParseISCSITargetPortals decodes count ISCSI_TARGET_PORTALW, as ReportIScsiTargetPortalsW returns them.
func ParseISCSITargetPortals(in []byte, count int) ([]ISCSITargetPortal, error) {
	return parseArray("ISCSI_TARGET_PORTALW", in, count, SizeofISCSITargetPortal, ParseISCSITargetPortal)
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

// Bytes encodes an ISCSI_TARGET_PORTAL_INFOW, 1544 bytes.
func (p ISCSITargetPortalInfo) Bytes() []byte {
	b := make(buffer, SizeofISCSITargetPortalInfo)
	b.putText(0, maxISCSIText, p.InitiatorName)         // InitiatorName
	b.putU32(512, p.InitiatorPort)                      // InitiatorPortNumber
	b.putText(516, maxISCSIText, p.Portal.SymbolicName) // SymbolicName
	b.putText(1028, maxISCSIText, p.Portal.Address)     // Address
	b.putU16(1540, p.Portal.Socket)                     // Socket
	return b
}

// ParseISCSITargetPortalInfo decodes an ISCSI_TARGET_PORTAL_INFOW.
func ParseISCSITargetPortalInfo(in []byte) (ISCSITargetPortalInfo, error) {
	b, err := need("ISCSI_TARGET_PORTAL_INFOW", in, SizeofISCSITargetPortalInfo)
	if err != nil {
		return ISCSITargetPortalInfo{}, err
	}
	return ISCSITargetPortalInfo{
		InitiatorName: b.text(0, maxISCSIText), InitiatorPort: b.u32(512),
		Portal: ISCSITargetPortal{SymbolicName: b.text(516, maxISCSIText),
			Address: b.text(1028, maxISCSIText), Socket: b.u16(1540)},
	}, nil
}

// ParseISCSITargetPortalInfos decodes count ISCSI_TARGET_PORTAL_INFOW, as ReportIScsiSendTargetPortalsW returns them.
func ParseISCSITargetPortalInfos(in []byte, count int) ([]ISCSITargetPortalInfo, error) {
	return parseArray("ISCSI_TARGET_PORTAL_INFOW", in, count, SizeofISCSITargetPortalInfo, ParseISCSITargetPortalInfo)
}

// ISCSIDevice is ISCSI_DEVICE_ON_SESSIONW: a device that an iSCSI session gave the node.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/ns-iscsidsc-iscsi_device_on_sessionw
type ISCSIDevice struct {
	InitiatorName string
	TargetName    string
	Address       SCSIAddress
	InterfaceType guid.GUID
	InterfaceName string              // device interface path
	LegacyName    string              // \\.\PhysicalDriveN, or the like
	Number        StorageDeviceNumber // DeviceNumber 0xFFFFFFFF: it has none yet
	Instance      uint32              // DEVINST
}

// SizeofISCSIDevice is the size in bytes of an ISCSI_DEVICE_ON_SESSIONW.
const SizeofISCSIDevice = 2040

// Bytes encodes an ISCSI_DEVICE_ON_SESSIONW, 2040 bytes.
func (d ISCSIDevice) Bytes() []byte {
	b := make(buffer, SizeofISCSIDevice)
	b.putText(0, maxISCSIText, d.InitiatorName)      // InitiatorName
	b.putText(512, maxISCSITargetName, d.TargetName) // TargetName
	copy(b[960:], d.Address.Bytes())                 // ScsiAddress
	b.putGUID(968, d.InterfaceType)                  // DeviceInterfaceType
	b.putText(984, maxDevicePath, d.InterfaceName)   // DeviceInterfaceName
	b.putText(1504, maxDevicePath, d.LegacyName)     // LegacyName
	copy(b[2024:], d.Number.Bytes())                 // StorageDeviceNumber
	b.putU32(2036, d.Instance)                       // DeviceInstance
	return b
}

// ParseISCSIDevice decodes an ISCSI_DEVICE_ON_SESSIONW.
func ParseISCSIDevice(in []byte) (ISCSIDevice, error) {
	b, err := need("ISCSI_DEVICE_ON_SESSIONW", in, SizeofISCSIDevice)
	if err != nil {
		return ISCSIDevice{}, err
	}
	address, err := ParseSCSIAddress(b[960:968])
	if err != nil {
		return ISCSIDevice{}, err
	}
	number, err := ParseStorageDeviceNumber(b[2024:2036])
	if err != nil {
		return ISCSIDevice{}, err
	}
	return ISCSIDevice{
		InitiatorName: b.text(0, maxISCSIText), TargetName: b.text(512, maxISCSITargetName), Address: address,
		InterfaceType: b.guid(968), InterfaceName: b.text(984, maxDevicePath), LegacyName: b.text(1504, maxDevicePath),
		Number: number, Instance: b.u32(2036),
	}, nil
}

// ParseISCSIDevices decodes count ISCSI_DEVICE_ON_SESSIONW, as GetDevicesForIScsiSessionW returns them.
func ParseISCSIDevices(in []byte, count int) ([]ISCSIDevice, error) {
	return parseArray("ISCSI_DEVICE_ON_SESSIONW", in, count, SizeofISCSIDevice, ParseISCSIDevice)
}

// PersistentISCSILogin is PERSISTENT_ISCSI_LOGIN_INFOW without its login options: a login that Windows repeats after
// each start.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/ns-iscsidsc-persistent_iscsi_login_infow
type PersistentISCSILogin struct {
	TargetName    string
	Informational bool
	Initiator     string // InitiatorInstance
	InitiatorPort uint32
	Portal        ISCSITargetPortal
	SecurityFlags uint64
}

const sizeofPersistentISCSILogin = 2080

// Bytes encodes a PERSISTENT_ISCSI_LOGIN_INFOW, 2080 bytes, with empty mappings and login options.
func (l PersistentISCSILogin) Bytes() []byte {
	b := make(buffer, sizeofPersistentISCSILogin)
	b.putText(0, maxISCSITargetName, l.TargetName) // TargetName
	b.putFlag(448, l.Informational)                // IsInformationalSession
	b.putText(450, maxISCSIText, l.Initiator)      // InitiatorInstance
	b.putU32(964, l.InitiatorPort)                 // InitiatorPortNumber
	l.Portal.put(b[968:])                          // TargetPortal
	b.putU64(2000, l.SecurityFlags)                // SecurityFlags
	return b
}

// ParsePersistentISCSILogin decodes a PERSISTENT_ISCSI_LOGIN_INFOW. It follows no pointers, so it never reads the user
// name and the secret.
func ParsePersistentISCSILogin(in []byte) (PersistentISCSILogin, error) {
	b, err := need("PERSISTENT_ISCSI_LOGIN_INFOW", in, sizeofPersistentISCSILogin)
	if err != nil {
		return PersistentISCSILogin{}, err
	}
	portal, err := ParseISCSITargetPortal(b[968:])
	if err != nil {
		return PersistentISCSILogin{}, err
	}
	return PersistentISCSILogin{
		TargetName: b.text(0, maxISCSITargetName), Informational: b.flag(448), Initiator: b.text(450, maxISCSIText),
		InitiatorPort: b.u32(964), Portal: portal, SecurityFlags: b.u64(2000),
	}, nil
}

// ParsePersistentISCSILogins decodes count PERSISTENT_ISCSI_LOGIN_INFOW, as ReportIScsiPersistentLoginsW returns them.
func ParsePersistentISCSILogins(in []byte, count int) ([]PersistentISCSILogin, error) {
	return parseArray("PERSISTENT_ISCSI_LOGIN_INFOW", in, count, sizeofPersistentISCSILogin, ParsePersistentISCSILogin)
}
