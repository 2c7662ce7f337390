// SPDX-License-Identifier: Apache-2.0

package win32

import (
	"bytes"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
)

// SMBIOS is RawSMBIOSData: the firmware's tables about the machine, GetSystemFirmwareTable's for the provider RSMB. It
// has their structures, without the one that ends the table.
// https://learn.microsoft.com/windows/win32/api/sysinfoapi/nf-sysinfoapi-getsystemfirmwaretable
// https://www.dmtf.org/standards/smbios (DSP0134)
type SMBIOS []SMBIOSStructure

// SMBIOSStructure is one structure of the tables.
type SMBIOSStructure struct {
	Type    uint8    // 0 BIOS, 1 system …
	Data    []byte   // the formatted area after the header, at most 251 bytes
	Strings []string // verbatim; fields refer to the first as 1
}

const (
	sizeofRawSMBIOSData = 8 // without SMBIOSTableData
	sizeofSMBIOSHeader  = 4 // Type, Length, Handle
	smbiosSystem        = 1
	smbiosEnd           = 127
	smbiosSystemSerial  = 7 // offset of Serial Number in the structure, header included
)

// SystemSerialNumber returns the serial number of the system (type 1), without trailing blanks; "": there is none.
func (s SMBIOS) SystemSerialNumber() string {
	for _, structure := range s {
		if structure.Type == smbiosSystem {
			return strings.TrimRight(structure.text(smbiosSystemSerial), " \t")
		}
	}
	return ""
}

// text returns the string that a field, by its offset, refers to, as UTF-8; "" if there is none.
func (s SMBIOSStructure) text(offset int) string {
	offset -= sizeofSMBIOSHeader
	if offset >= len(s.Data) {
		return ""
	}
	number := int(s.Data[offset])
	if number == 0 || number > len(s.Strings) {
		return ""
	}
	return strings.ToValidUTF8(s.Strings[number-1], "\uFFFD")
}

// ParseSMBIOS decodes a RawSMBIOSData up to the structure that ends the table, or to its end. After damage it returns
// an error and the structures before: firmware that is wrong about a fan may be right about the machine.
func ParseSMBIOS(in []byte) (s SMBIOS, err error) {
	const name = "RawSMBIOSData"
	b, err := cstruct.Need(name, in, sizeofRawSMBIOSData)
	if err != nil {
		return nil, err
	}
	length := b.U32(4)
	rest := b[sizeofRawSMBIOSData:]
	if uint64(length) > uint64(len(rest)) {
		return s, cstruct.Malformed(name, "the table has %d bytes, of which %d are there", length, len(rest))
	}
	rest = rest[:length]
	for len(rest) > 0 {
		var structure SMBIOSStructure
		if structure, rest, err = nextSMBIOSStructure(rest); err != nil {
			return s, err
		}
		if structure.Type == smbiosEnd {
			break
		}
		s = append(s, structure)
	}
	return s, nil
}

// nextSMBIOSStructure takes one structure with its strings from the table.
func nextSMBIOSStructure(table cstruct.Buffer) (s SMBIOSStructure, rest cstruct.Buffer, err error) {
	const name = "SMBIOS structure"
	if _, err := cstruct.Need(name, table, sizeofSMBIOSHeader); err != nil {
		return s, nil, err
	}
	length := int(table[1])
	if length < sizeofSMBIOSHeader || length > len(table) {
		return s, nil, cstruct.Malformed(name, "type %d is %d bytes long, of which %d are there", table[0], length,
			len(table))
	}
	s = SMBIOSStructure{Type: table[0], Data: bytes.Clone(table[sizeofSMBIOSHeader:length])}
	rest = table[length:]
	for {
		text, after, found := bytes.Cut(rest, []byte{0})
		if !found {
			return s, nil, cstruct.Malformed(name, "the strings of type %d have no end", s.Type)
		}
		rest = after
		if len(text) > 0 {
			s.Strings = append(s.Strings, string(text))
			continue
		}
		if len(s.Strings) > 0 {
			return s, rest, nil
		}
		// No strings: two NULs, or one at the very end, where some firmware omits the second.
		if len(rest) > 0 && rest[0] == 0 {
			rest = rest[1:]
		}
		return s, rest, nil
	}
}
