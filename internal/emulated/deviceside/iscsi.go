// SPDX-License-Identifier: Apache-2.0

package deviceside

import (
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

// ISCSIDevice encodes an ISCSI_DEVICE_ON_SESSIONW, 2040 bytes.
func ISCSIDevice(d win32.ISCSIDevice) []byte {
	b := make(cstruct.Buffer, win32.SizeofISCSIDevice)
	b.PutText(984, maxDevicePath, d.InterfaceName) // DeviceInterfaceName
	copy(b[2024:], cstruct.Encode(d.Number))       // StorageDeviceNumber
	return b
}

// PersistentISCSILogin encodes a PERSISTENT_ISCSI_LOGIN_INFOW, 2080 bytes, with empty mappings and login options.
func PersistentISCSILogin(l win32.PersistentISCSILogin) []byte {
	b := make(cstruct.Buffer, win32.SizeofPersistentISCSILogin)
	b.PutText(0, maxISCSITargetName, l.TargetName) // TargetName
	b.PutText(450, maxISCSIText, l.Initiator)      // InitiatorInstance
	b.PutU32(964, l.InitiatorPort)                 // InitiatorPortNumber
	copy(b[968:], l.Portal.Bytes())                // TargetPortal
	return b
}

// ISCSISessionList encodes sessions as GetIScsiSessionListW writes them to a buffer at the address base: the sessions,
// and the texts of their pointers. A pointer to an empty string is null. Connections are counted and have no addresses,
// which the agent does not read.
func ISCSISessionList(sessions []win32.ISCSISession, base uint64) []byte {
	b := make(cstruct.Buffer, len(sessions)*win32.SizeofISCSISession)
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
	for i, session := range sessions {
		node, target := text(session.TargetNodeName), text(session.TargetName)
		s := b[i*win32.SizeofISCSISession:]
		copy(s, cstruct.Encode(session.ID))
		s.PutU64(24, node)   // TargetNodeName
		s.PutU64(32, target) // TargetName
		if session.Connected {
			s.PutU32(48, 1) // ConnectionCount
		}
	}
	return append(b, make([]byte, align(len(b), 8)-len(b))...)
}
