// SPDX-License-Identifier: Apache-2.0

package win32

import (
	"math"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
)

// FileBasic is FILE_BASIC_INFO. Setting it with times and attributes of 0 leaves them unchanged.
// https://learn.microsoft.com/windows/win32/api/winbase/ns-winbase-file_basic_info
type FileBasic struct {
	_          [4]int64 // times
	Attributes uint32
	_          uint32
}

// Bytes encodes a FILE_BASIC_INFO, 40 bytes.
func (f FileBasic) Bytes() []byte { return cstruct.Encode(f) }

// SizeofFileBasic is the size in bytes of a FILE_BASIC_INFO.
const SizeofFileBasic = 40

// ParseFileBasic decodes a FILE_BASIC_INFO.
func ParseFileBasic(in []byte) (FileBasic, error) {
	return cstruct.Parse[FileBasic]("FILE_BASIC_INFO", in, SizeofFileBasic)
}

// FileAttributeTag is FILE_ATTRIBUTE_TAG_INFO, the kind of a file. The tag needs FILE_ATTRIBUTE_REPARSE_POINT.
// https://learn.microsoft.com/windows/win32/api/winbase/ns-winbase-file_attribute_tag_info
type FileAttributeTag struct {
	Attributes uint32
	ReparseTag uint32
}

// ParseFileAttributeTag decodes a FILE_ATTRIBUTE_TAG_INFO.
func ParseFileAttributeTag(in []byte) (FileAttributeTag, error) {
	return cstruct.Parse[FileAttributeTag]("FILE_ATTRIBUTE_TAG_INFO", in, 8)
}

// SizeofFileStandard is the size in bytes of a FILE_STANDARD_INFO, which any handle may ask for.
// https://learn.microsoft.com/windows/win32/api/winbase/ns-winbase-file_standard_info
const SizeofFileStandard = 24

// ParseFileStandard decodes of a FILE_STANDARD_INFO whether the file is a directory.
func ParseFileStandard(in []byte) (directory bool, err error) {
	b, err := cstruct.Need("FILE_STANDARD_INFO", in, SizeofFileStandard)
	if err != nil {
		return false, err
	}
	return b[21] != 0, nil // Directory
}

// FileDisposition encodes FILE_DISPOSITION_INFO: whether the file is deleted when its last handle is closed.
// https://learn.microsoft.com/windows/win32/api/winbase/ns-winbase-file_disposition_info
func FileDisposition(remove bool) []byte { return cstruct.Encode(remove) }

// FileDispositionEx encodes FILE_DISPOSITION_INFO_EX for FileDispositionInfoEx: FILE_DISPOSITION_FLAG_DELETE and so on.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddk/ns-ntddk-_file_disposition_information_ex
func FileDispositionEx(flags uint32) []byte { return cstruct.Encode(flags) }

// FileRename is FILE_RENAME_INFORMATION, or FILE_RENAME_INFO, as 64-bit Windows has it. It never replaces anything.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/ns-ntifs-_file_rename_information
type FileRename struct {
	RootDirectory uint64 // a handle of the new directory
	Name          string // without a path
}

const sizeofFileRename = 24

// Bytes encodes a FILE_RENAME_INFORMATION: the whole structure, and the name from its last field on.
func (f FileRename) Bytes() []byte {
	const offsetName = 20 // FileName
	name := cstruct.EncodeUTF16(f.Name)
	b := make(cstruct.Buffer, sizeofFileRename+len(name)) // the least that Windows takes
	b.PutU64(8, f.RootDirectory)                          // RootDirectory
	b.PutU32(16, uint32(len(name)))                       // FileNameLength
	copy(b[offsetName:], name)
	return b
}

// FileFsFullSize is FILE_FS_FULL_SIZE_INFORMATION. Total and CallerAvailable obey a quota.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddk/ns-ntddk-_file_fs_full_size_information
type FileFsFullSize struct {
	TotalAllocationUnits           int64
	CallerAvailableAllocationUnits int64
	ActualAvailableAllocationUnits int64
	SectorsPerAllocationUnit       uint32
	BytesPerSector                 uint32
}

// SizeofFileNetworkOpen is the size in bytes of a FILE_NETWORK_OPEN_INFORMATION.
const SizeofFileNetworkOpen = 56

// SizeofFileFsFullSize is the size in bytes of a FILE_FS_FULL_SIZE_INFORMATION.
const SizeofFileFsFullSize = 32

// ParseFileFsFullSize decodes a FILE_FS_FULL_SIZE_INFORMATION.
func ParseFileFsFullSize(in []byte) (FileFsFullSize, error) {
	return cstruct.Parse[FileFsFullSize]("FILE_FS_FULL_SIZE_INFORMATION", in, SizeofFileFsFullSize)
}

// Space returns the size and what is available to the caller, in bytes; false for sizes that contradict each other.
func (f FileFsFullSize) Space() (total, available int64, ok bool) {
	unit := uint64(f.SectorsPerAllocationUnit) * uint64(f.BytesPerSector)
	if unit == 0 || f.CallerAvailableAllocationUnits < 0 || f.TotalAllocationUnits < f.CallerAvailableAllocationUnits ||
		uint64(f.TotalAllocationUnits) > math.MaxInt64/unit {
		return 0, 0, false
	}
	return f.TotalAllocationUnits * int64(unit), f.CallerAvailableAllocationUnits * int64(unit), true
}
