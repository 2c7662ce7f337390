// SPDX-License-Identifier: Apache-2.0

package deviceside

import (
	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
)

// The lengths of texts in UTF-16 units, the NUL included.
const (
	maxISCSIText       = 256
	maxISCSITargetName = 224
	maxDevicePath      = 260
)

// ISCSITargetPortalInfo encodes an ISCSI_TARGET_PORTAL_INFOW, 1544 bytes.
func ISCSITargetPortalInfo(p win32.ISCSITargetPortalInfo) []byte {
	b := make(cstruct.Buffer, win32.SizeofISCSITargetPortalInfo)
	b.PutText(0, maxISCSIText, p.InitiatorName) // InitiatorName
	b.PutU32(512, p.InitiatorPort)              // InitiatorPortNumber
	copy(b[516:], p.Portal.Bytes())             // SymbolicName, Address, Socket
	return b
}

// The values of ISCSI_AUTH_TYPES.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/ne-iscsidsc-iscsi_auth_types
const (
	ISCSI_NO_AUTH_TYPE          = 0
	ISCSI_CHAP_AUTH_TYPE        = 1
	ISCSI_MUTUAL_CHAP_AUTH_TYPE = 2
)

// ISCSIDevice is ISCSI_DEVICE_ON_SESSIONW.
type ISCSIDevice struct {
	InitiatorName string
	TargetName    string
	Address       win32.SCSIAddress
	InterfaceType guid.GUID
	InterfaceName string // device interface path
	LegacyName    string // \\.\PhysicalDriveN, or the like
	Number        win32.StorageDeviceNumber
	Instance      uint32 // DEVINST
}

// ParseISCSIDevices decodes count ISCSI_DEVICE_ON_SESSIONW as a whole.
func ParseISCSIDevices(in []byte, count int) ([]ISCSIDevice, error) {
	const structure = "ISCSI_DEVICE_ON_SESSIONW"
	return cstruct.ParseArray(structure, in, count, win32.SizeofISCSIDevice, func(b cstruct.Buffer) (ISCSIDevice, error) {
		return ISCSIDevice{
			InitiatorName: b.Text(0, maxISCSIText), TargetName: b.Text(512, maxISCSITargetName),
			Address:       win32.SCSIAddress{PortNumber: b[964], PathID: b[965], TargetID: b[966], LUN: b[967]},
			InterfaceType: b.GUID(968), InterfaceName: b.Text(984, maxDevicePath), LegacyName: b.Text(1504, maxDevicePath),
			Number: win32.StorageDeviceNumber{
				DeviceType: b.U32(2024), DeviceNumber: b.U32(2028), PartitionNumber: b.U32(2032),
			},
			Instance: b.U32(2036),
		}, nil
	})
}

// Bytes encodes an ISCSI_DEVICE_ON_SESSIONW, 2040 bytes.
func (d ISCSIDevice) Bytes() []byte {
	b := make(cstruct.Buffer, win32.SizeofISCSIDevice)
	b.PutText(0, maxISCSIText, d.InitiatorName)      // InitiatorName
	b.PutText(512, maxISCSITargetName, d.TargetName) // TargetName
	copy(b[960:], SCSIAddress(d.Address))            // ScsiAddress
	b.PutGUID(968, d.InterfaceType)                  // DeviceInterfaceType
	b.PutText(984, maxDevicePath, d.InterfaceName)   // DeviceInterfaceName
	b.PutText(1504, maxDevicePath, d.LegacyName)     // LegacyName
	copy(b[2024:], cstruct.Encode(d.Number))         // StorageDeviceNumber
	b.PutU32(2036, d.Instance)                       // DeviceInstance
	return b
}

// PersistentISCSILogin is PERSISTENT_ISCSI_LOGIN_INFOW without options.
type PersistentISCSILogin struct {
	TargetName    string
	Informational bool
	Initiator     string // InitiatorInstance
	InitiatorPort uint32
	Portal        win32.ISCSITargetPortal
	SecurityFlags uint64
}

// Bytes encodes a PERSISTENT_ISCSI_LOGIN_INFOW, 2080 bytes, with empty mappings and login options.
func (l PersistentISCSILogin) Bytes() []byte {
	b := make(cstruct.Buffer, win32.SizeofPersistentISCSILogin)
	b.PutText(0, maxISCSITargetName, l.TargetName) // TargetName
	b.PutFlag(448, l.Informational)                // IsInformationalSession
	b.PutText(450, maxISCSIText, l.Initiator)      // InitiatorInstance
	b.PutU32(964, l.InitiatorPort)                 // InitiatorPortNumber
	copy(b[968:], l.Portal.Bytes())                // TargetPortal
	b.PutU64(2000, l.SecurityFlags)                // SecurityFlags
	return b
}

// SizeofISCSIConnection is the size of an ISCSI_CONNECTION_INFOW in bytes.
const SizeofISCSIConnection = 40

// ISCSISession is ISCSI_SESSION_INFOW. Without connections, the initiator is trying to reconnect.
type ISCSISession struct {
	ID             win32.ISCSIUniqueID
	InitiatorName  string
	TargetNodeName string
	TargetName     string
	ISID           [6]byte
	TSID           [2]byte
	Connections    []ISCSIConnection
}

// ISCSIConnection is ISCSI_CONNECTION_INFOW: one TCP connection of a session.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/ns-iscsidsc-iscsi_connection_infow
type ISCSIConnection struct {
	ID               win32.ISCSIUniqueID
	InitiatorAddress string
	TargetAddress    string
	InitiatorSocket  uint16
	TargetSocket     uint16
	CID              [2]byte
}

// ISCSISessionList encodes sessions as GetIScsiSessionListW writes them to a buffer at the address base: the sessions,
// followed by the objects of their pointers. A pointer to an empty string, or to no connections, is null.
func ISCSISessionList(sessions []ISCSISession, base uint64) []byte {
	connections := len(sessions) * win32.SizeofISCSISession
	texts := connections
	for _, s := range sessions {
		texts += len(s.Connections) * SizeofISCSIConnection
	}
	b := make(cstruct.Buffer, texts)
	known := map[string]uint64{"": 0}
	text := func(s string) uint64 {
		at, ok := known[s]
		if !ok {
			at = base + uint64(len(b))
			known[s] = at
			b = append(append(b, cstruct.EncodeUTF16(s)...), 0, 0)
		}
		return at
	}
	at := connections
	for i, session := range sessions {
		initiator, node, target := text(session.InitiatorName), text(session.TargetNodeName), text(session.TargetName)
		s := b[i*win32.SizeofISCSISession:]
		copy(s, cstruct.Encode(session.ID))
		s.PutU64(16, initiator)                        // InitiatorName
		s.PutU64(24, node)                             // TargetNodeName
		s.PutU64(32, target)                           // TargetName
		copy(s[40:], session.ISID[:])                  // ISID
		copy(s[46:], session.TSID[:])                  // TSID
		s.PutU32(48, uint32(len(session.Connections))) // ConnectionCount
		if len(session.Connections) > 0 {
			s.PutU64(56, base+uint64(at)) // Connections
		}
		at += len(session.Connections) * SizeofISCSIConnection
	}
	at = connections
	for _, session := range sessions {
		for _, connection := range session.Connections {
			initiator, target := text(connection.InitiatorAddress), text(connection.TargetAddress)
			c := b[at:]
			copy(c, cstruct.Encode(connection.ID))
			c.PutU64(16, initiator)                  // InitiatorAddress
			c.PutU64(24, target)                     // TargetAddress
			c.PutU16(32, connection.InitiatorSocket) // InitiatorSocket
			c.PutU16(34, connection.TargetSocket)    // TargetSocket
			copy(c[36:], connection.CID[:])          // CID
			at += SizeofISCSIConnection
		}
	}
	return append(b, make([]byte, align(len(b), 8)-len(b))...)
}
