// SPDX-License-Identifier: Apache-2.0

package ntfs

import "encoding/binary"

// The types of attributes.
const (
	typeStandardInformation = 0x10
	typeAttributeList       = 0x20
	typeFileName            = 0x30
	typeVolumeName          = 0x60
	typeVolumeInformation   = 0x70
	typeData                = 0x80
	typeIndexRoot           = 0x90
	typeIndexAllocation     = 0xA0
	typeBitmap              = 0xB0
	typeEnd                 = 0xFFFFFFFF
)

// attrDef returns the content of $AttrDef, the types of attributes with their names and limits, as Windows XP and later
// versions have it.
func attrDef() []byte {
	const entry, resident, logged, anySize = 160, 0x40, 0x80, -1
	types := []struct {
		name     string
		kind     uint32
		flags    uint32
		min, max int64
	}{
		{"$STANDARD_INFORMATION", typeStandardInformation, resident, 48, 72},
		{"$ATTRIBUTE_LIST", typeAttributeList, logged, 0, anySize},
		{"$FILE_NAME", typeFileName, 0x42, 68, 578}, // and indexed
		{"$OBJECT_ID", 0x40, resident, 0, 256},
		{"$SECURITY_DESCRIPTOR", 0x50, logged, 0, anySize},
		{"$VOLUME_NAME", typeVolumeName, resident, 2, 256},
		{"$VOLUME_INFORMATION", typeVolumeInformation, resident, 12, 12},
		{"$DATA", typeData, 0, 0, anySize},
		{"$INDEX_ROOT", typeIndexRoot, resident, 0, anySize},
		{"$INDEX_ALLOCATION", typeIndexAllocation, logged, 0, anySize},
		{"$BITMAP", typeBitmap, logged, 0, anySize},
		{"$REPARSE_POINT", 0xC0, logged, 0, 16 << 10},
		{"$EA_INFORMATION", 0xD0, resident, 8, 8},
		{"$EA", 0xE0, 0, 0, 64 << 10},
		{"$LOGGED_UTILITY_STREAM", 0x100, logged, 0, 64 << 10},
	}
	table := make([]byte, entry*(len(types)+1)) // the last is zero
	le := binary.LittleEndian
	for i, t := range types {
		e := table[i*entry:]
		copy(e, utf16Bytes(t.name))
		le.PutUint32(e[128:], t.kind)
		le.PutUint32(e[140:], t.flags)
		le.PutUint64(e[144:], uint64(t.min))
		le.PutUint64(e[152:], uint64(t.max))
	}
	return table
}
