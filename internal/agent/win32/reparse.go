// SPDX-License-Identifier: Apache-2.0

package win32

import (
	"slices"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
)

// Reparse tags. Compare them with ==: they are numbers, not sets of bits.
// https://learn.microsoft.com/windows/win32/fileio/reparse-point-tags
const (
	IO_REPARSE_TAG_MOUNT_POINT = 0xA0000003 // volume mount point or junction
	IO_REPARSE_TAG_SYMLINK     = 0xA000000C
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
	var b cstruct.Buffer
	offset, named := hasNames(r.Tag)
	switch {
	case named:
		substitute, shown := cstruct.EncodeUTF16(r.SubstituteName), cstruct.EncodeUTF16(r.PrintName)
		// A NUL follows each name, and no length counts it: Windows refuses mount points without.
		b = make(cstruct.Buffer, offset, offset+len(substitute)+len(shown)+4)
		b = append(append(b, substitute...), 0, 0)
		b = append(append(b, shown...), 0, 0)
		if len(b) > MAXIMUM_REPARSE_DATA_BUFFER_SIZE {
			return nil
		}
		b.PutU16(8, 0)                          // SubstituteNameOffset
		b.PutU16(10, uint16(len(substitute)))   // SubstituteNameLength
		b.PutU16(12, uint16(len(substitute)+2)) // PrintNameOffset
		b.PutU16(14, uint16(len(shown)))        // PrintNameLength
		if r.Tag == IO_REPARSE_TAG_SYMLINK && r.Relative {
			b.PutU32(16, SYMLINK_FLAG_RELATIVE) // Flags
		}
	case r.Tag&microsoftTag != 0:
		b = append(make(cstruct.Buffer, offsetReparseData), r.Raw...)
	default:
		b = append(make(cstruct.Buffer, offsetReparseGUIDData), r.Raw...)
		b.PutGUID(8, r.GUID) // ReparseGuid
	}
	if len(b) > MAXIMUM_REPARSE_DATA_BUFFER_SIZE {
		return nil
	}
	length := len(b) - offsetReparseData
	if !named && r.Tag&microsoftTag == 0 {
		length = len(r.Raw)
	}
	b.PutU32(0, r.Tag)          // ReparseTag
	b.PutU16(4, uint16(length)) // ReparseDataLength
	return b
}

// ParseReparsePoint decodes the output of FSCTL_GET_REPARSE_POINT, or the input of FSCTL_SET_REPARSE_POINT.
func ParseReparsePoint(in []byte) (ReparsePoint, error) {
	const structure = "REPARSE_DATA_BUFFER"
	b, err := cstruct.Need(structure, in, offsetReparseData)
	if err != nil {
		return ReparsePoint{}, err
	}
	r := ReparsePoint{Tag: b.U32(0)}
	header := offsetReparseData
	if r.Tag&microsoftTag == 0 {
		header = offsetReparseGUIDData
	}
	end := header + int(b.U16(4)) // ReparseDataLength
	if end > len(b) {
		return ReparsePoint{}, cstruct.Malformed(structure, "ends at %d, %d bytes given", end, len(b))
	}
	b = b[:end]
	offset, named := hasNames(r.Tag)
	if !named {
		if header == offsetReparseGUIDData {
			r.GUID = b.GUID(8)
		}
		r.Raw = slices.Clone(b[header:])
		return r, nil
	}
	if len(b) < offset {
		return ReparsePoint{}, cstruct.Malformed(structure, "data of %d bytes, needs %d", len(b)-header, offset-header)
	}
	names := b[offset:]
	if r.SubstituteName, err = cstruct.NameAt(structure, names, uint32(b.U16(8)), b.U16(10)); err != nil {
		return ReparsePoint{}, err
	}
	if r.PrintName, err = cstruct.NameAt(structure, names, uint32(b.U16(12)), b.U16(14)); err != nil {
		return ReparsePoint{}, err
	}
	r.Relative = r.Tag == IO_REPARSE_TAG_SYMLINK && b.U32(16)&SYMLINK_FLAG_RELATIVE != 0
	return r, nil
}

// DeleteReparsePoint encodes the input of FSCTL_DELETE_REPARSE_POINT for a tag of Microsoft's: the header alone, 8
// bytes. Decode it with ParseDeleteReparsePoint; ParseReparsePoint fails for tags with names.
func DeleteReparsePoint(tag uint32) []byte {
	b := make(cstruct.Buffer, offsetReparseData)
	b.PutU32(0, tag) // ReparseTag; ReparseDataLength@4 and Reserved@6 stay zero
	return b
}
