// SPDX-License-Identifier: Apache-2.0

package win32

import (
	"slices"

	"github.com/Microsoft/go-winio/pkg/guid"
)

// Reparse tags. Compare them with ==: they are numbers, not sets of bits.
// https://learn.microsoft.com/windows/win32/fileio/reparse-point-tags
const (
	IO_REPARSE_TAG_MOUNT_POINT = 0xA0000003 // volume mount point or junction
	IO_REPARSE_TAG_SYMLINK     = 0xA000000C
	IO_REPARSE_TAG_LX_SYMLINK  = 0xA000001D // made by the Windows Subsystem for Linux; Win32 cannot follow it
)

// MAXIMUM_REPARSE_DATA_BUFFER_SIZE is the size in bytes of a buffer that holds every reparse point.
const MAXIMUM_REPARSE_DATA_BUFFER_SIZE = 16384

// SYMLINK_FLAG_RELATIVE marks a symbolic link whose target is relative to its directory.
const SYMLINK_FLAG_RELATIVE = 1

// ReparsePoint is REPARSE_DATA_BUFFER, which makes a file or directory a link or mount point.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/ns-ntifs-_reparse_data_buffer
type ReparsePoint struct {
	Tag            uint32
	SubstituteName string // mount point, symlink: the target as an NT path: \??\C:\dir
	PrintName      string // mount point, symlink: the target as shown to people; may be empty
	Relative       bool   // symlink: the target is relative

	GUID guid.GUID // of tags that are not Microsoft's: their owner (REPARSE_GUID_DATA_BUFFER)
	Raw  []byte    // of tags other than mount point and symlink: the data
}

const (
	offsetReparseData     = 8  // after ReparseTag, ReparseDataLength and Reserved
	offsetMountPointNames = 16 // MountPointReparseBuffer.PathBuffer
	offsetSymlinkNames    = 20 // SymbolicLinkReparseBuffer.PathBuffer
	offsetReparseGUIDData = 24 // REPARSE_GUID_DATA_BUFFER.GenericReparseBuffer
	microsoftTag          = 0x80000000
)

// hasNames reports whether a tag's data holds the two names, and returns the offset at which these begin.
func hasNames(tag uint32) (offset int, ok bool) {
	switch tag {
	case IO_REPARSE_TAG_MOUNT_POINT:
		return offsetMountPointNames, true
	case IO_REPARSE_TAG_SYMLINK:
		return offsetSymlinkNames, true
	}
	return 0, false
}

// Bytes encodes a REPARSE_DATA_BUFFER as FSCTL_SET_REPARSE_POINT takes it, or a REPARSE_GUID_DATA_BUFFER for a tag
// that is not Microsoft's. It returns nil if that would exceed MAXIMUM_REPARSE_DATA_BUFFER_SIZE.
func (r ReparsePoint) Bytes() []byte {
	var b buffer
	offset, named := hasNames(r.Tag)
	switch {
	case named:
		substitute, shown := encodeUTF16(r.SubstituteName), encodeUTF16(r.PrintName)
		// A NUL follows each name, and no length counts it: Windows refuses mount points without.
		b = make(buffer, offset, offset+len(substitute)+len(shown)+4)
		b = append(append(b, substitute...), 0, 0)
		b = append(append(b, shown...), 0, 0)
		if len(b) > MAXIMUM_REPARSE_DATA_BUFFER_SIZE {
			return nil
		}
		b.putU16(8, 0)                          // SubstituteNameOffset
		b.putU16(10, uint16(len(substitute)))   // SubstituteNameLength
		b.putU16(12, uint16(len(substitute)+2)) // PrintNameOffset
		b.putU16(14, uint16(len(shown)))        // PrintNameLength
		if r.Tag == IO_REPARSE_TAG_SYMLINK && r.Relative {
			b.putU32(16, SYMLINK_FLAG_RELATIVE) // Flags
		}
	case r.Tag&microsoftTag != 0:
		b = append(make(buffer, offsetReparseData), r.Raw...)
	default:
		b = append(make(buffer, offsetReparseGUIDData), r.Raw...)
		b.putGUID(8, r.GUID) // ReparseGuid
	}
	if len(b) > MAXIMUM_REPARSE_DATA_BUFFER_SIZE {
		return nil
	}
	length := len(b) - offsetReparseData
	if !named && r.Tag&microsoftTag == 0 {
		length = len(r.Raw)
	}
	b.putU32(0, r.Tag)          // ReparseTag
	b.putU16(4, uint16(length)) // ReparseDataLength
	return b
}

// ParseReparsePoint decodes the output of FSCTL_GET_REPARSE_POINT, or the input of FSCTL_SET_REPARSE_POINT.
func ParseReparsePoint(in []byte) (ReparsePoint, error) {
	const structure = "REPARSE_DATA_BUFFER"
	b, err := need(structure, in, offsetReparseData)
	if err != nil {
		return ReparsePoint{}, err
	}
	r := ReparsePoint{Tag: b.u32(0)}
	header := offsetReparseData
	if r.Tag&microsoftTag == 0 {
		header = offsetReparseGUIDData
	}
	end := header + int(b.u16(4)) // ReparseDataLength
	if end > len(b) {
		return ReparsePoint{}, malformed(structure, "ends at %d, %d bytes given", end, len(b))
	}
	b = b[:end]
	offset, named := hasNames(r.Tag)
	if !named {
		if header == offsetReparseGUIDData {
			r.GUID = b.guid(8)
		}
		r.Raw = slices.Clone(b[header:])
		return r, nil
	}
	if len(b) < offset {
		return ReparsePoint{}, malformed(structure, "data of %d bytes, needs %d", len(b)-header, offset-header)
	}
	names := b[offset:]
	if r.SubstituteName, err = nameAt(structure, names, b.u16(8), b.u16(10)); err != nil {
		return ReparsePoint{}, err
	}
	if r.PrintName, err = nameAt(structure, names, b.u16(12), b.u16(14)); err != nil {
		return ReparsePoint{}, err
	}
	r.Relative = r.Tag == IO_REPARSE_TAG_SYMLINK && b.u32(16)&SYMLINK_FLAG_RELATIVE != 0
	return r, nil
}

// nameAt returns a name of length bytes from the names of a structure.
func nameAt(structure string, names buffer, offset, length uint16) (string, error) {
	end := int(offset) + int(length)
	if offset%2 != 0 || length%2 != 0 || end > len(names) {
		return "", malformed(structure, "name at %d, %d bytes, in %d bytes", offset, length, len(names))
	}
	return decodeUTF16(names[offset:end]), nil
}

// DeleteReparsePoint encodes the input of FSCTL_DELETE_REPARSE_POINT for a tag of Microsoft's: the header alone, 8
// bytes. Decode it with ParseDeleteReparsePoint; ParseReparsePoint fails for tags with names.
func DeleteReparsePoint(tag uint32) []byte {
	b := make(buffer, offsetReparseData)
	b.putU32(0, tag) // ReparseTag; ReparseDataLength@4 and Reserved@6 stay zero
	return b
}

// ParseDeleteReparsePoint returns the tag to be removed from the input of FSCTL_DELETE_REPARSE_POINT.
func ParseDeleteReparsePoint(in []byte) (tag uint32, err error) {
	b, err := need("REPARSE_DATA_BUFFER", in, offsetReparseData)
	if err != nil {
		return 0, err
	}
	if n := b.u16(4); n != 0 { // ReparseDataLength
		return 0, malformed("REPARSE_DATA_BUFFER", "data of %d bytes in a request to delete", n)
	}
	return b.u32(0), nil
}
