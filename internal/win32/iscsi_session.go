// SPDX-License-Identifier: Apache-2.0

package win32

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

const (
	sizeofISCSISession    = 64
	sizeofISCSIConnection = 40
)

// ISCSISessionList encodes sessions as GetIScsiSessionListW writes them to a buffer at the address base: the sessions,
// followed by the objects of their pointers. A pointer to an empty string, or to no connections, is null.
func ISCSISessionList(sessions []ISCSISession, base uint64) []byte {
	connections := len(sessions) * sizeofISCSISession
	texts := connections
	for _, s := range sessions {
		texts += len(s.Connections) * sizeofISCSIConnection
	}
	b := make(buffer, texts)
	known := map[string]uint64{"": 0}
	text := func(s string) uint64 {
		at, ok := known[s]
		if !ok {
			at = base + uint64(len(b))
			known[s] = at
			b = append(append(b, encodeUTF16(s)...), 0, 0)
		}
		return at
	}
	at := connections
	for i, session := range sessions {
		initiator, node, target := text(session.InitiatorName), text(session.TargetNodeName), text(session.TargetName)
		s := b[i*sizeofISCSISession:]
		copy(s, session.ID.Bytes())
		s.putU64(16, initiator)                        // InitiatorName
		s.putU64(24, node)                             // TargetNodeName
		s.putU64(32, target)                           // TargetName
		copy(s[40:], session.ISID[:])                  // ISID
		copy(s[46:], session.TSID[:])                  // TSID
		s.putU32(48, uint32(len(session.Connections))) // ConnectionCount
		if len(session.Connections) > 0 {
			s.putU64(56, base+uint64(at)) // Connections
		}
		at += len(session.Connections) * sizeofISCSIConnection
	}
	at = connections
	for _, session := range sessions {
		for _, connection := range session.Connections {
			initiator, target := text(connection.InitiatorAddress), text(connection.TargetAddress)
			c := b[at:]
			copy(c, connection.ID.Bytes())
			c.putU64(16, initiator)                  // InitiatorAddress
			c.putU64(24, target)                     // TargetAddress
			c.putU16(32, connection.InitiatorSocket) // InitiatorSocket
			c.putU16(34, connection.TargetSocket)    // TargetSocket
			copy(c[36:], connection.CID[:])          // CID
			at += sizeofISCSIConnection
		}
	}
	return append(b, make([]byte, align(len(b), 8)-len(b))...)
}

// ParseISCSISessionList decodes count sessions that GetIScsiSessionListW wrote to a buffer at the address base. The
// pointers are treated as numbers: one that does not point into the buffer is malformed, and nothing outside the buffer
// is read.
func ParseISCSISessionList(in []byte, base uint64, count int) ([]ISCSISession, error) {
	const structure = "ISCSI_SESSION_INFOW"
	list := pointed{buffer: in, base: base}
	room := len(in) / sizeofISCSIConnection // connections that can be in the buffer, pointed at once each
	return parseArray(structure, in, count, sizeofISCSISession, func(b []byte) (s ISCSISession, err error) {
		session := buffer(b)
		s = ISCSISession{
			ID:   ISCSIUniqueID{session.u64(0), session.u64(8)},
			ISID: [6]byte(session[40:46]), TSID: [2]byte(session[46:48]),
		}
		for _, field := range []struct {
			to      *string
			pointer uint64
		}{{&s.InitiatorName, session.u64(16)}, {&s.TargetNodeName, session.u64(24)}, {&s.TargetName, session.u64(32)}} {
			if *field.to, err = list.text(structure, field.pointer); err != nil {
				return s, err
			}
		}
		connections := int64(session.u32(48))
		if connections == 0 {
			return s, nil
		}
		if connections > int64(room) {
			return s, malformed(structure, "%d connections, there is room for %d", connections, room)
		}
		room -= int(connections)
		at, err := list.at(structure, session.u64(56), int(connections)*sizeofISCSIConnection)
		if err != nil {
			return s, err
		}
		s.Connections, err = parseArray("ISCSI_CONNECTION_INFOW", at, int(connections),
			sizeofISCSIConnection, list.connection)
		return s, err
	})
}

func (p pointed) connection(b []byte) (c ISCSIConnection, err error) {
	const structure = "ISCSI_CONNECTION_INFOW"
	connection := buffer(b)
	c = ISCSIConnection{
		ID:              ISCSIUniqueID{connection.u64(0), connection.u64(8)},
		InitiatorSocket: connection.u16(32), TargetSocket: connection.u16(34), CID: [2]byte(connection[36:38]),
	}
	if c.InitiatorAddress, err = p.text(structure, connection.u64(16)); err != nil {
		return c, err
	}
	c.TargetAddress, err = p.text(structure, connection.u64(24))
	return c, err
}

// pointed is a buffer with pointers into itself, and the address that it had when they were made.
type pointed struct {
	buffer
	base uint64
}

// at returns the bytes that a pointer points to.
func (p pointed) at(structure string, pointer uint64, size int) ([]byte, error) {
	offset := pointer - p.base // an address before the buffer becomes a very large offset
	if offset > uint64(len(p.buffer)) || uint64(size) > uint64(len(p.buffer))-offset {
		return nil, malformed(structure, "a pointer to %d bytes at offset %#x, the buffer has %d",
			size, offset, len(p.buffer))
	}
	return p.buffer[offset : offset+uint64(size)], nil
}

// text returns the NUL-terminated string that a pointer points to; a null pointer is the empty string. Windows makes no
// string here that is longer than maxISCSIText.
func (p pointed) text(structure string, pointer uint64) (string, error) {
	if pointer == 0 {
		return "", nil
	}
	offset := pointer - p.base
	if offset > uint64(len(p.buffer)) {
		return "", malformed(structure, "a pointer to a string at offset %#x, the buffer has %d", offset, len(p.buffer))
	}
	rest := p.buffer[offset:]
	s := untilNUL(rest[:min(len(rest), 2*maxISCSIText)])
	if len(s)+2 > len(rest) || len(s) > 2*(maxISCSIText-1) {
		return "", malformed(structure, "a string at offset %#x has no end", offset)
	}
	return decodeUTF16(s), nil
}
