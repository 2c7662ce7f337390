// SPDX-License-Identifier: Apache-2.0

package win32

// Access rights of files, directories and devices.
// https://learn.microsoft.com/windows/win32/fileio/file-access-rights-constants
const (
	FILE_LIST_DIRECTORY   = 0x1
	FILE_READ_DATA        = 0x1
	FILE_ADD_FILE         = 0x2
	FILE_WRITE_DATA       = 0x2
	FILE_ADD_SUBDIRECTORY = 0x4
	FILE_TRAVERSE         = 0x20
	FILE_READ_ATTRIBUTES  = 0x80
	FILE_WRITE_ATTRIBUTES = 0x100
	DELETE                = 0x10000
	GENERIC_WRITE         = 0x40000000
	GENERIC_READ          = 0x80000000
)

// The rights of other programs to a file while it is open.
const (
	FILE_SHARE_READ   = 0x1
	FILE_SHARE_WRITE  = 0x2
	FILE_SHARE_DELETE = 0x4
)

// Dispositions of NtCreateFile: what to do if the file exists, and if it does not.
// https://learn.microsoft.com/windows/win32/api/winternl/nf-winternl-ntcreatefile
const (
	FILE_OPEN    = 1 // open; it must exist
	FILE_CREATE  = 2 // create; it must not exist
	FILE_OPEN_IF = 3 // open or create
)

// Options of NtCreateFile.
const (
	FILE_DIRECTORY_FILE     = 0x1
	FILE_NON_DIRECTORY_FILE = 0x40
	FILE_OPEN_REPARSE_POINT = 0x200000 // the link or mount point itself, not what it leads to
)

// Attributes of files.
// https://learn.microsoft.com/windows/win32/fileio/file-attribute-constants
const (
	FILE_ATTRIBUTE_READONLY      = 0x1
	FILE_ATTRIBUTE_DIRECTORY     = 0x10
	FILE_ATTRIBUTE_NORMAL        = 0x80
	FILE_ATTRIBUTE_REPARSE_POINT = 0x400
)

// Forms in which GetFinalPathNameByHandleW names the volume.
const (
	VOLUME_NAME_DOS  = 0x0 // \\?\C:\dir
	VOLUME_NAME_GUID = 0x1 // \\?\Volume{GUID}\dir
	VOLUME_NAME_NT   = 0x2 // \Device\HarddiskVolume3\dir
)

// Information classes of GetFileInformationByHandleEx and SetFileInformationByHandle.
// https://learn.microsoft.com/windows/win32/api/minwinbase/ne-minwinbase-file_info_by_handle_class
const (
	FileBasicInfo                = 0 // FileBasic
	FileStandardInfo             = 1
	FileDispositionInfo          = 4  // FileDisposition
	FileAttributeTagInfo         = 9  // FileAttributeTag
	FileFullDirectoryInfo        = 14 // DirectoryEntry, the next ones
	FileFullDirectoryRestartInfo = 15 // DirectoryEntry, from the first one on
	FileDispositionInfoEx        = 21 // FileDispositionEx
)

// FileFsFullSizeInformation is an information class of NtQueryVolumeInformationFile: FileFsFullSize.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/wdm/ne-wdm-_fsinfoclass
const FileFsFullSizeInformation = 7

// Flags of FileDispositionInfoEx.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddk/ns-ntddk-_file_disposition_information_ex
const (
	FILE_DISPOSITION_FLAG_DELETE = 0x1
	// the name is gone when the handle is closed, even if others have the file open
	FILE_DISPOSITION_FLAG_POSIX_SEMANTICS           = 0x2
	FILE_DISPOSITION_FLAG_IGNORE_READONLY_ATTRIBUTE = 0x10
)
