// SPDX-License-Identifier: Apache-2.0

package win32

import "github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"

// ISCSISession is ISCSI_SESSION_INFOW: one session of the initiator with a target.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/ns-iscsidsc-iscsi_session_infow
type ISCSISession struct {
	ID             ISCSIUniqueID
	TargetNodeName string
	TargetName     string
	Connected      bool // false: the initiator is trying to reconnect
}

// SizeofISCSISession is the size of an ISCSI_SESSION_INFOW in bytes.
const SizeofISCSISession = 64

// ParseISCSISessionList decodes count sessions that GetIScsiSessionListW wrote to a buffer at the address base.
// Pointers are numbers: one that does not point into the buffer is malformed, and nothing outside is read.
func ParseISCSISessionList(in []byte, base uint64, count int) ([]ISCSISession, error) {
	list := pointed{Buffer: in, base: base}
	return cstruct.ParseArray("ISCSI_SESSION_INFOW", in, count, SizeofISCSISession,
		func(b cstruct.Buffer) (s ISCSISession, err error) {
			s.ID = ISCSIUniqueID{b.U64(0), b.U64(8)}
			s.Connected = b.U32(48) > 0 // ConnectionCount
			if s.TargetNodeName, err = list.text(b.U64(24)); err == nil {
				s.TargetName, err = list.text(b.U64(32))
			}
			return s, err
		})
}

// pointed is a buffer with pointers into itself, and the address that it had when they were made.
type pointed struct {
	cstruct.Buffer
	base uint64
}

// text returns the string, of at most maxISCSIText units, that a pointer points to; a null pointer's is empty.
func (p pointed) text(pointer uint64) (string, error) {
	const structure = "ISCSI_SESSION_INFOW"
	if pointer == 0 {
		return "", nil
	}
	offset := pointer - p.base // an address before the buffer becomes a very large offset
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
