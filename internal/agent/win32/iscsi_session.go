// SPDX-License-Identifier: Apache-2.0

package win32

import "github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"

// ISCSISession is ISCSI_SESSION_INFOW: one session of the initiator with a target.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/ns-iscsidsc-iscsi_session_infow
type ISCSISession struct {
	ID             ISCSIUniqueID
	InitiatorName  string
	TargetNodeName string
	TargetName     string
	ISID           [6]byte
	TSID           [2]byte
	Connections    []ISCSIConnection // none: the initiator is trying to reconnect
}

// ISCSIConnection is ISCSI_CONNECTION_INFOW: one TCP connection of a session.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/ns-iscsidsc-iscsi_connection_infow
type ISCSIConnection struct {
	ID               ISCSIUniqueID
	InitiatorAddress string
	TargetAddress    string
	InitiatorSocket  uint16
	TargetSocket     uint16
	CID              [2]byte
}

// Sizes of the structures in bytes.
const (
	SizeofISCSISession    = 64
	SizeofISCSIConnection = 40
)

// ParseISCSISessionList decodes count sessions that GetIScsiSessionListW wrote to a buffer at the address base.
// Pointers are numbers: one that does not point into the buffer is malformed, and nothing outside is read.
func ParseISCSISessionList(in []byte, base uint64, count int) ([]ISCSISession, error) {
	const structure = "ISCSI_SESSION_INFOW"
	list := pointed{Buffer: in, base: base}
	room := len(in) / SizeofISCSIConnection // connections that can be in the buffer, pointed at once each
	parse := func(session cstruct.Buffer) (s ISCSISession, err error) {
		s = ISCSISession{
			ID:   ISCSIUniqueID{session.U64(0), session.U64(8)},
			ISID: [6]byte(session[40:46]), TSID: [2]byte(session[46:48]),
		}
		for _, field := range []struct {
			to      *string
			pointer uint64
		}{{&s.InitiatorName, session.U64(16)}, {&s.TargetNodeName, session.U64(24)}, {&s.TargetName, session.U64(32)}} {
			if *field.to, err = list.text(structure, field.pointer); err != nil {
				return s, err
			}
		}
		connections := int64(session.U32(48))
		if connections == 0 {
			return s, nil
		}
		if connections > int64(room) {
			return s, cstruct.Malformed(structure, "%d connections, there is room for %d", connections, room)
		}
		room -= int(connections)
		at, err := list.at(structure, session.U64(56), int(connections)*SizeofISCSIConnection)
		if err != nil {
			return s, err
		}
		s.Connections, err = cstruct.ParseArray("ISCSI_CONNECTION_INFOW", at, int(connections),
			SizeofISCSIConnection, list.connection)
		return s, err
	}
	return cstruct.ParseArray(structure, in, count, SizeofISCSISession, parse)
}

func (p pointed) connection(connection cstruct.Buffer) (c ISCSIConnection, err error) {
	const structure = "ISCSI_CONNECTION_INFOW"
	c = ISCSIConnection{
		ID:              ISCSIUniqueID{connection.U64(0), connection.U64(8)},
		InitiatorSocket: connection.U16(32), TargetSocket: connection.U16(34), CID: [2]byte(connection[36:38]),
	}
	if c.InitiatorAddress, err = p.text(structure, connection.U64(16)); err != nil {
		return c, err
	}
	c.TargetAddress, err = p.text(structure, connection.U64(24))
	return c, err
}

// pointed is a buffer with pointers into itself, and the address that it had when they were made.
type pointed struct {
	cstruct.Buffer
	base uint64
}

// at returns the bytes that a pointer points to.
func (p pointed) at(structure string, pointer uint64, size int) ([]byte, error) {
	offset := pointer - p.base // an address before the buffer becomes a very large offset
	if offset > uint64(len(p.Buffer)) || uint64(size) > uint64(len(p.Buffer))-offset {
		return nil, cstruct.Malformed(structure, "a pointer to %d bytes at offset %#x, the buffer has %d",
			size, offset, len(p.Buffer))
	}
	return p.Buffer[offset : offset+uint64(size)], nil
}

// text returns the string, of at most maxISCSIText units, that a pointer points to; a null pointer's is empty.
func (p pointed) text(structure string, pointer uint64) (string, error) {
	if pointer == 0 {
		return "", nil
	}
	offset := pointer - p.base
	if offset > uint64(len(p.Buffer)) {
		return "", cstruct.Malformed(structure, "a pointer to a string at offset %#x, the buffer has %d", offset,
			len(p.Buffer))
	}
	rest := p.Buffer[offset:]
	s := cstruct.UntilNUL(rest[:min(len(rest), 2*maxISCSIText)])
	if len(s)+2 > len(rest) || len(s) > 2*(maxISCSIText-1) {
		return "", cstruct.Malformed(structure, "a string at offset %#x has no end", offset)
	}
	return cstruct.DecodeUTF16(s), nil
}
