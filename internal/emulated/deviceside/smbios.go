// SPDX-License-Identifier: Apache-2.0

package deviceside

import (
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
)

const (
	sizeofRawSMBIOSData    = 8 // without SMBIOSTableData
	sizeofSMBIOSHeader     = 4 // Type, Length, Handle
	smbiosEnd              = 127
	maxSMBIOSStructureData = 255 - sizeofSMBIOSHeader
)

// SMBIOS encodes a RawSMBIOSData of version 3.7, whose structures have their numbers as handles. Data that is too long
// is cut; a string ends at its first NUL, and an empty string, which would end the list, becomes a blank.
func SMBIOS(s win32.SMBIOS) []byte {
	b := cstruct.Buffer{0, 3, 7, 0, 0, 0, 0, 0}
	for i, structure := range append(s[:len(s):len(s)], win32.SMBIOSStructure{Type: smbiosEnd}) {
		data := structure.Data[:min(len(structure.Data), maxSMBIOSStructureData)]
		b = append(b, structure.Type, byte(sizeofSMBIOSHeader+len(data)), byte(i), byte(i>>8))
		b = append(b, data...)
		for _, text := range structure.Strings {
			text, _, _ = strings.Cut(text, "\x00")
			if text == "" {
				text = " "
			}
			b = append(append(b, text...), 0)
		}
		if len(structure.Strings) == 0 {
			b = append(b, 0)
		}
		b = append(b, 0)
	}
	b.PutU32(4, uint32(len(b)-sizeofRawSMBIOSData))
	return b
}
