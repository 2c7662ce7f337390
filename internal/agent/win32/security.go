// SPDX-License-Identifier: Apache-2.0

package win32

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
)

// Rights to access lists.
// https://learn.microsoft.com/windows/win32/secauthz/standard-access-rights
const (
	READ_CONTROL = 0x20000
	WRITE_DAC    = 0x40000
	GENERIC_ALL  = 0x10000000
)

// Sets of rights to files and directories.
// https://learn.microsoft.com/windows/win32/fileio/file-security-and-access-rights
const (
	FILE_GENERIC_READ    = 0x120089
	FILE_GENERIC_WRITE   = 0x120116
	FILE_GENERIC_EXECUTE = 0x1200A0
	FILE_ALL_ACCESS      = 0x1F01FF
)

// SID is a security identifier in text: S-1-5-18.
// https://learn.microsoft.com/openspecs/windows_protocols/ms-dtyp/c92a27b1-c772-4fa7-a432-15df5f1b66a1
type SID string

// SystemSID returns the SID of the account SYSTEM.
func SystemSID() SID { return "S-1-5-18" }

// AdministratorsSID returns the SID of the group Administrators.
func AdministratorsSID() SID { return "S-1-5-32-544" }

const (
	maxSubAuthorities = 15 // SID_MAX_SUB_AUTHORITIES
	sizeofSIDHeader   = 8
	maxSIDText        = 184
)

// ParseSID reads a SID: S-1-, an authority and 1 to 15 subauthorities, all of them decimal numbers below 2^32 without
// leading zeros. Windows writes larger authorities in hexadecimal; no account has one.
func ParseSID(text string) (SID, error) {
	rest, ok := strings.CutPrefix(text, "S-1-")
	numbers := strings.Split(rest, "-")
	if !ok || len(text) > maxSIDText || len(numbers) < 2 || len(numbers) > 1+maxSubAuthorities {
		return "", cstruct.Malformed("SID", "it must be S-1-, an authority and 1 to %d numbers", maxSubAuthorities)
	}
	for _, number := range numbers {
		if n, err := strconv.ParseUint(number, 10, 32); err != nil || strconv.FormatUint(n, 10) != number {
			return "", cstruct.Malformed("SID", "its numbers must be decimal, below 2^32 and without leading zeros")
		}
	}
	return SID(text), nil
}

// Bytes encodes a valid SID.
func (s SID) Bytes() []byte {
	numbers := strings.Split(string(s), "-")[2:]
	b := make(cstruct.Buffer, sizeofSIDHeader+4*(len(numbers)-1))
	b[0], b[1] = 1, byte(len(numbers)-1) // Revision, SubAuthorityCount
	for i, number := range numbers {
		n, _ := strconv.ParseUint(number, 10, 32) // it is valid
		if i == 0 {
			binary.BigEndian.PutUint32(b[4:], uint32(n)) // the last four of six bytes
		} else {
			b.PutU32(sizeofSIDHeader+4*(i-1), uint32(n))
		}
	}
	return b
}

// parseSIDBytes decodes a SID, behind which there may be more.
func parseSIDBytes(in []byte) (SID, error) {
	b, err := cstruct.Need("SID", in, sizeofSIDHeader)
	if err != nil {
		return "", err
	}
	count := int(b[1])
	if b, err = cstruct.Need("SID", in, sizeofSIDHeader+4*count); err != nil {
		return "", err
	}
	if b[0] != 1 || count == 0 || count > maxSubAuthorities {
		return "", cstruct.Malformed("SID", "revision %d with %d subauthorities", b[0], count)
	}
	authority := uint64(binary.BigEndian.Uint16(b[2:]))<<32 | uint64(binary.BigEndian.Uint32(b[4:]))
	text := fmt.Sprintf("S-1-%d", authority)
	for i := range count {
		text += fmt.Sprintf("-%d", b.U32(sizeofSIDHeader+4*i))
	}
	return SID(text), nil
}

// Parts of an access list.
// https://learn.microsoft.com/openspecs/windows_protocols/ms-dtyp/628ebb1d-c509-4ea0-a10f-77ef97ca4586
const (
	ACCESS_ALLOWED_ACE_TYPE = 0x0

	OBJECT_INHERIT_ACE    = 0x1
	CONTAINER_INHERIT_ACE = 0x2
	INHERIT_ONLY_ACE      = 0x8
	INHERITED_ACE         = 0x10

	SE_DACL_PRESENT   = 0x4
	SE_DACL_PROTECTED = 0x1000
	SE_SELF_RELATIVE  = 0x8000

	sizeofSecurityDescriptor = 20 // SECURITY_DESCRIPTOR_RELATIVE
	sizeofACL                = 8
	sizeofACEHeader          = 4
	offsetSIDStart           = 8 // of ACCESS_ALLOWED_ACE
	aclRevision              = 2 // ACL_REVISION
	maxACL                   = 1<<16 - 4
)

// AccessEntry is an entry of an access list that allows something.
type AccessEntry struct {
	SID   SID
	Mask  uint32
	Flags uint8 // whether it is inherited and by what
}

const inherited = OBJECT_INHERIT_ACE | CONTAINER_INHERIT_ACE

// NewAccessEntry returns an entry for a directory and all that is made below later.
func NewAccessEntry(sid SID, mask uint32) AccessEntry { return AccessEntry{sid, mask, inherited} }

func (e AccessEntry) allows(wanted AccessEntry) bool {
	return e.SID == wanted.SID && (e.Mask&wanted.Mask == wanted.Mask || e.Mask&GENERIC_ALL != 0)
}

// bytes encodes an ACCESS_ALLOWED_ACE.
func (e AccessEntry) bytes() []byte {
	sid := e.SID.Bytes()
	b := make(cstruct.Buffer, offsetSIDStart+len(sid))
	b[0], b[1] = ACCESS_ALLOWED_ACE_TYPE, e.Flags // AceType, AceFlags
	b.PutU16(2, uint16(len(b)))                   // AceSize
	b.PutU32(4, e.Mask)                           // Mask
	copy(b[offsetSIDStart:], sid)
	return b
}

// AccessList is the discretionary access list of a security descriptor.
type AccessList struct {
	// Everyone: there is no list, so everyone may do everything.
	Everyone bool
	control  uint16
	entries  [][]byte // each an ACE of any type
}

// NewProtectedList returns a list of these entries that inherits nothing from the directory above.
func NewProtectedList(entries ...AccessEntry) AccessList {
	l := AccessList{control: SE_DACL_PROTECTED}
	for _, e := range entries {
		l.entries = append(l.entries, e.bytes())
	}
	return l
}

// ParseAccessList decodes the list of a SECURITY_DESCRIPTOR_RELATIVE.
func ParseAccessList(in []byte) (AccessList, error) {
	const structure = "SECURITY_DESCRIPTOR_RELATIVE"
	b, err := cstruct.Need(structure, in, sizeofSecurityDescriptor)
	if err != nil {
		return AccessList{}, err
	}
	l := AccessList{control: b.U16(2)} // Control
	at := b.U32(16)                    // Dacl
	if l.control&SE_DACL_PRESENT == 0 || at == 0 {
		l.Everyone = true
		return l, nil
	}
	if b[0] != 1 || uint64(at) > uint64(len(b)) {
		return l, cstruct.Malformed(structure, "revision %d, with an access list at %d of %d", b[0], at, len(b))
	}
	if b, err = cstruct.Need("ACL", b[at:], sizeofACL); err != nil {
		return l, err
	}
	size, count := int(b.U16(2)), int(b.U16(4)) // AclSize, AceCount
	if size < sizeofACL || size > len(b) {
		return l, cstruct.Malformed("ACL", "%d bytes of %d", size, len(b))
	}
	for b = b[sizeofACL:size]; count > 0; count-- {
		if len(b) < sizeofACEHeader || int(b.U16(2)) < sizeofACEHeader || int(b.U16(2)) > len(b) {
			return l, cstruct.Malformed("ACE_HEADER", "an entry that does not fit into %d bytes", len(b))
		}
		length := b.U16(2) // AceSize
		l.entries, b = append(l.entries, b[:length]), b[length:]
	}
	return l, nil
}

// Bytes encodes a SECURITY_DESCRIPTOR_RELATIVE with nothing but the list; nil if the list is too long.
func (l AccessList) Bytes() []byte {
	body := slices.Concat(l.entries...)
	if len(body) > maxACL-sizeofACL {
		return nil
	}
	b := make(cstruct.Buffer, sizeofSecurityDescriptor+sizeofACL, sizeofSecurityDescriptor+sizeofACL+len(body))
	b[0] = 1                                                                  // Revision
	b.PutU16(2, SE_SELF_RELATIVE|SE_DACL_PRESENT|l.control&SE_DACL_PROTECTED) // Control
	b.PutU32(16, sizeofSecurityDescriptor)                                    // Dacl
	acl := b[sizeofSecurityDescriptor:]
	acl[0] = aclRevision
	acl.PutU16(2, uint16(sizeofACL+len(body))) // AclSize
	acl.PutU16(4, uint16(len(l.entries)))      // AceCount
	return append(b, body...)
}

// Allowed returns the entries that allow something, in their order.
func (l AccessList) Allowed() (all []AccessEntry) {
	for _, e := range l.entries {
		b := cstruct.Buffer(e)
		if len(b) < offsetSIDStart || b[0] != ACCESS_ALLOWED_ACE_TYPE {
			continue
		}
		if sid, err := parseSIDBytes(b[offsetSIDStart:]); err == nil {
			all = append(all, AccessEntry{sid, b.U32(4), b[1]})
		}
	}
	return all
}

// Add adds an entry, and reports whether it was missing: in the directory, or for what is made below. It stands behind
// those that are not inherited, where Windows expects one that allows.
func (l *AccessList) Add(wanted AccessEntry) bool {
	if l.Everyone {
		return false
	}
	here, below := false, false
	for _, e := range l.Allowed() {
		here = here || e.allows(wanted) && e.Flags&INHERIT_ONLY_ACE == 0
		below = below || e.allows(wanted) && e.Flags&inherited == inherited
	}
	if here && below {
		return false
	}
	at := slices.IndexFunc(l.entries, func(e []byte) bool { return e[1]&INHERITED_ACE != 0 })
	if at < 0 {
		at = len(l.entries)
	}
	l.entries = slices.Insert(slices.Clone(l.entries), at, wanted.bytes())
	return true
}
