// SPDX-License-Identifier: Apache-2.0

package win32

// FileBasic is FILE_BASIC_INFO. Times count 100 ns from 1601-01-01 UTC; when setting, 0 leaves a time or the attributes
// unchanged.
// https://learn.microsoft.com/windows/win32/api/winbase/ns-winbase-file_basic_info
type FileBasic struct {
	CreationTime   int64
	LastAccessTime int64
	LastWriteTime  int64
	ChangeTime     int64
	Attributes     uint32
}

const sizeofFileBasic = 40

// Bytes encodes a FILE_BASIC_INFO, 40 bytes.
func (f FileBasic) Bytes() []byte {
	b := make(buffer, sizeofFileBasic)
	b.putI64(0, f.CreationTime)   // CreationTime
	b.putI64(8, f.LastAccessTime) // LastAccessTime
	b.putI64(16, f.LastWriteTime) // LastWriteTime
	b.putI64(24, f.ChangeTime)    // ChangeTime
	b.putU32(32, f.Attributes)    // FileAttributes
	return b
}

// ParseFileBasic decodes a FILE_BASIC_INFO.
func ParseFileBasic(in []byte) (FileBasic, error) {
	b, err := need("FILE_BASIC_INFO", in, sizeofFileBasic)
	if err != nil {
		return FileBasic{}, err
	}
	return FileBasic{
		CreationTime: b.i64(0), LastAccessTime: b.i64(8), LastWriteTime: b.i64(16), ChangeTime: b.i64(24),
		Attributes: b.u32(32),
	}, nil
}

// FileStandard is FILE_STANDARD_INFO.
// https://learn.microsoft.com/windows/win32/api/winbase/ns-winbase-file_standard_info
type FileStandard struct {
	AllocationSize int64 // bytes
	EndOfFile      int64 // bytes
	NumberOfLinks  uint32
	DeletePending  bool
	Directory      bool
}

const sizeofFileStandard = 24

// Bytes encodes a FILE_STANDARD_INFO, 24 bytes.
func (f FileStandard) Bytes() []byte {
	b := make(buffer, sizeofFileStandard)
	b.putI64(0, f.AllocationSize)  // AllocationSize
	b.putI64(8, f.EndOfFile)       // EndOfFile
	b.putU32(16, f.NumberOfLinks)  // NumberOfLinks
	b.putFlag(20, f.DeletePending) // DeletePending
	b.putFlag(21, f.Directory)     // Directory
	return b
}

// ParseFileStandard decodes a FILE_STANDARD_INFO; it needs the 22 bytes before the padding.
func ParseFileStandard(in []byte) (FileStandard, error) {
	b, err := need("FILE_STANDARD_INFO", in, 22)
	if err != nil {
		return FileStandard{}, err
	}
	return FileStandard{
		AllocationSize: b.i64(0), EndOfFile: b.i64(8), NumberOfLinks: b.u32(16), DeletePending: b.flag(20),
		Directory: b.flag(21),
	}, nil
}

// FileAttributeTag is FILE_ATTRIBUTE_TAG_INFO, a cheap way to learn the kind of a file. The tag is valid only with
// FILE_ATTRIBUTE_REPARSE_POINT.
// https://learn.microsoft.com/windows/win32/api/winbase/ns-winbase-file_attribute_tag_info
type FileAttributeTag struct {
	Attributes uint32
	ReparseTag uint32
}

const sizeofFileAttributeTag = 8

// Bytes encodes a FILE_ATTRIBUTE_TAG_INFO, 8 bytes.
func (f FileAttributeTag) Bytes() []byte {
	b := make(buffer, sizeofFileAttributeTag)
	b.putU32(0, f.Attributes) // FileAttributes
	b.putU32(4, f.ReparseTag) // ReparseTag
	return b
}

// ParseFileAttributeTag decodes a FILE_ATTRIBUTE_TAG_INFO.
func ParseFileAttributeTag(in []byte) (FileAttributeTag, error) {
	b, err := need("FILE_ATTRIBUTE_TAG_INFO", in, sizeofFileAttributeTag)
	if err != nil {
		return FileAttributeTag{}, err
	}
	return FileAttributeTag{Attributes: b.u32(0), ReparseTag: b.u32(4)}, nil
}

// FileID is FILE_ID_INFO. Two handles with the same value are open on the same file.
// https://learn.microsoft.com/windows/win32/api/winbase/ns-winbase-file_id_info
type FileID struct {
	VolumeSerialNumber uint64
	ID                 [16]byte
}

const sizeofFileID = 24

// Bytes encodes a FILE_ID_INFO, 24 bytes.
func (f FileID) Bytes() []byte {
	b := make(buffer, sizeofFileID)
	b.putU64(0, f.VolumeSerialNumber) // VolumeSerialNumber
	copy(b[8:], f.ID[:])              // FileId
	return b
}

// ParseFileID decodes a FILE_ID_INFO.
func ParseFileID(in []byte) (FileID, error) {
	b, err := need("FILE_ID_INFO", in, sizeofFileID)
	if err != nil {
		return FileID{}, err
	}
	return FileID{VolumeSerialNumber: b.u64(0), ID: [16]byte(b[8:sizeofFileID])}, nil
}

const sizeofFileDisposition = 1

// FileDisposition encodes FILE_DISPOSITION_INFO for FileDispositionInfo: whether the file is deleted when its last
// handle is closed.
// https://learn.microsoft.com/windows/win32/api/winbase/ns-winbase-file_disposition_info
func FileDisposition(remove bool) []byte {
	b := make(buffer, sizeofFileDisposition)
	b.putFlag(0, remove) // DeleteFile
	return b
}

// ParseFileDisposition decodes a FILE_DISPOSITION_INFO.
func ParseFileDisposition(in []byte) (remove bool, err error) {
	b, err := need("FILE_DISPOSITION_INFO", in, sizeofFileDisposition)
	if err != nil {
		return false, err
	}
	return b.flag(0), nil
}

const sizeofFileDispositionEx = 4

// FileDispositionEx encodes FILE_DISPOSITION_INFO_EX for FileDispositionInfoEx: FILE_DISPOSITION_FLAG_DELETE and so on.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddk/ns-ntddk-_file_disposition_information_ex
func FileDispositionEx(flags uint32) []byte {
	b := make(buffer, sizeofFileDispositionEx)
	b.putU32(0, flags) // Flags
	return b
}

// ParseFileDispositionEx decodes a FILE_DISPOSITION_INFO_EX into its flags.
func ParseFileDispositionEx(in []byte) (flags uint32, err error) {
	b, err := need("FILE_DISPOSITION_INFO_EX", in, sizeofFileDispositionEx)
	if err != nil {
		return 0, err
	}
	return b.u32(0), nil
}

// FileRename is FILE_RENAME_INFORMATION, of which FILE_RENAME_INFO is another name, as 64-bit Windows has it. It never
// replaces what has the name already.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/ns-ntifs-_file_rename_information
type FileRename struct {
	RootDirectory uint64 // a handle of the new directory
	Name          string // without a path
}

const sizeofFileRename = 24

// Bytes encodes a FILE_RENAME_INFORMATION: the whole structure, and the name from its last field on.
func (f FileRename) Bytes() []byte {
	const offsetName = 20 // FileName
	name := encodeUTF16(f.Name)
	b := make(buffer, sizeofFileRename+len(name)) // the least that Windows takes
	b.putU64(8, f.RootDirectory)                  // RootDirectory
	b.putU32(16, uint32(len(name)))               // FileNameLength
	copy(b[offsetName:], name)
	return b
}
