/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout that a C compiler for Windows gives the structures and constants in package win32.
 *
 * Nothing here runs. The program is compiled to an object file, and extract.go reads from that object the table
 * `golden` and the objects that it names, and prints them as text. make.sh does both.
 *
 * Structures come from the mingw-w64 headers. Those that the headers lack, or have without their last fields, are
 * declared here from Microsoft's documentation, with the page's name; so are constants. Structures that end in an
 * array of one element are declared again with the array that the example needs, and STATIC_SAME makes sure that the
 * copy has the header's offsets.
 */
#define UNICODE
#define _UNICODE
#define _WIN32_WINNT 0x0A00
#define NTDDI_VERSION 0x0A000007
#include <stddef.h>
#include <windows.h>
#include <winioctl.h>
#include <storduid.h>
#include <winternl.h>
#include <ntddscsi.h>
#include <lm.h>
#include <lmerr.h>
#include <virtdisk.h>
#include <winnetwk.h>
#include <winsvc.h>
#include <ddk/mountmgr.h>

_Static_assert(sizeof(void *) == 8, "64-bit Windows only");

#define STATIC_SAME(A, B, field) _Static_assert(offsetof(A, field) == offsetof(B, field), #B "." #field)

/* ---- documented, but not in the headers ---- */

/* GET_DISK_ATTRIBUTES structure (winioctl.h) */
typedef struct {
    DWORD Version;
    DWORD Reserved1;
    DWORDLONG Attributes;
} GET_DISK_ATTRIBUTES;

/* SET_DISK_ATTRIBUTES structure (winioctl.h) */
typedef struct {
    DWORD Version;
    BOOLEAN Persist;
    BYTE Reserved1[3];
    DWORDLONG Attributes;
    DWORDLONG AttributesMask;
    DWORD Reserved2[4];
} SET_DISK_ATTRIBUTES;

/* DRIVE_LAYOUT_INFORMATION_MBR structure (winioctl.h): the header has no CheckSum */
typedef struct {
    DWORD Signature;
    DWORD CheckSum;
} DOC_DRIVE_LAYOUT_INFORMATION_MBR;

/* DRIVE_LAYOUT_INFORMATION_EX structure (winioctl.h), with three partitions */
typedef struct {
    DWORD PartitionStyle;
    DWORD PartitionCount;
    union {
        DOC_DRIVE_LAYOUT_INFORMATION_MBR Mbr;
        DRIVE_LAYOUT_INFORMATION_GPT Gpt;
    };
    PARTITION_INFORMATION_EX PartitionEntry[3];
} DOC_DRIVE_LAYOUT_INFORMATION_EX;
STATIC_SAME(DOC_DRIVE_LAYOUT_INFORMATION_EX, DRIVE_LAYOUT_INFORMATION_EX, PartitionCount);
STATIC_SAME(DOC_DRIVE_LAYOUT_INFORMATION_EX, DRIVE_LAYOUT_INFORMATION_EX, Mbr);
STATIC_SAME(DOC_DRIVE_LAYOUT_INFORMATION_EX, DRIVE_LAYOUT_INFORMATION_EX, Gpt);
STATIC_SAME(DOC_DRIVE_LAYOUT_INFORMATION_EX, DRIVE_LAYOUT_INFORMATION_EX, PartitionEntry);

/* STORAGE_IDENTIFIER structure (ntddstor.h), with an identifier of n bytes */
#define DOC_STORAGE_IDENTIFIER(n)            \
    struct {                                 \
        STORAGE_IDENTIFIER_CODE_SET CodeSet; \
        STORAGE_IDENTIFIER_TYPE Type;        \
        WORD IdentifierSize;                 \
        WORD NextOffset;                     \
        STORAGE_ASSOCIATION_TYPE Association; \
        BYTE Identifier[n];                  \
    }
typedef DOC_STORAGE_IDENTIFIER(1) DOC_STORAGE_IDENTIFIER_1;
STATIC_SAME(DOC_STORAGE_IDENTIFIER_1, STORAGE_IDENTIFIER, Type);
STATIC_SAME(DOC_STORAGE_IDENTIFIER_1, STORAGE_IDENTIFIER, IdentifierSize);
STATIC_SAME(DOC_STORAGE_IDENTIFIER_1, STORAGE_IDENTIFIER, NextOffset);
STATIC_SAME(DOC_STORAGE_IDENTIFIER_1, STORAGE_IDENTIFIER, Association);
STATIC_SAME(DOC_STORAGE_IDENTIFIER_1, STORAGE_IDENTIFIER, Identifier);

/* STORAGE_DEVICE_ID_DESCRIPTOR structure (ntddstor.h), with three identifiers */
typedef struct {
    DWORD Version;
    DWORD Size;
    DWORD NumberOfIdentifiers;
    DOC_STORAGE_IDENTIFIER(16) First;
    DOC_STORAGE_IDENTIFIER(15) Second; /* and one byte of padding */
    DOC_STORAGE_IDENTIFIER(4) Third;
} DOC_STORAGE_DEVICE_ID_DESCRIPTOR;
STATIC_SAME(DOC_STORAGE_DEVICE_ID_DESCRIPTOR, STORAGE_DEVICE_ID_DESCRIPTOR, Size);
STATIC_SAME(DOC_STORAGE_DEVICE_ID_DESCRIPTOR, STORAGE_DEVICE_ID_DESCRIPTOR, NumberOfIdentifiers);
_Static_assert(offsetof(DOC_STORAGE_DEVICE_ID_DESCRIPTOR, First) == offsetof(STORAGE_DEVICE_ID_DESCRIPTOR, Identifiers), "Identifiers");

/* FILE_FULL_DIR_INFO structure (winbase.h), with a name of n characters */
#define DOC_FILE_FULL_DIR_INFO(n)      \
    struct {                           \
        ULONG NextEntryOffset;         \
        ULONG FileIndex;               \
        LARGE_INTEGER CreationTime;    \
        LARGE_INTEGER LastAccessTime;  \
        LARGE_INTEGER LastWriteTime;   \
        LARGE_INTEGER ChangeTime;      \
        LARGE_INTEGER EndOfFile;       \
        LARGE_INTEGER AllocationSize;  \
        ULONG FileAttributes;          \
        ULONG FileNameLength;          \
        ULONG EaSize;                  \
        WCHAR FileName[n];             \
    }
typedef DOC_FILE_FULL_DIR_INFO(1) DOC_FILE_FULL_DIR_INFO_1;
STATIC_SAME(DOC_FILE_FULL_DIR_INFO_1, FILE_FULL_DIR_INFO, AllocationSize);
STATIC_SAME(DOC_FILE_FULL_DIR_INFO_1, FILE_FULL_DIR_INFO, FileAttributes);
STATIC_SAME(DOC_FILE_FULL_DIR_INFO_1, FILE_FULL_DIR_INFO, FileNameLength);
STATIC_SAME(DOC_FILE_FULL_DIR_INFO_1, FILE_FULL_DIR_INFO, EaSize);
STATIC_SAME(DOC_FILE_FULL_DIR_INFO_1, FILE_FULL_DIR_INFO, FileName);

/* REPARSE_DATA_BUFFER structure (ntifs.h), MountPointReparseBuffer, with n characters of names */
#define DOC_MOUNT_POINT(n)             \
    struct {                           \
        ULONG ReparseTag;              \
        USHORT ReparseDataLength;      \
        USHORT Reserved;               \
        USHORT SubstituteNameOffset;   \
        USHORT SubstituteNameLength;   \
        USHORT PrintNameOffset;        \
        USHORT PrintNameLength;        \
        WCHAR PathBuffer[n];           \
    }

/* REPARSE_DATA_BUFFER structure (ntifs.h), SymbolicLinkReparseBuffer, with n characters of names */
#define DOC_SYMLINK(n)                 \
    struct {                           \
        ULONG ReparseTag;              \
        USHORT ReparseDataLength;      \
        USHORT Reserved;               \
        USHORT SubstituteNameOffset;   \
        USHORT SubstituteNameLength;   \
        USHORT PrintNameOffset;        \
        USHORT PrintNameLength;        \
        ULONG Flags;                   \
        WCHAR PathBuffer[n];           \
    }
typedef DOC_MOUNT_POINT(1) MOUNT_POINT_REPARSE_DATA_BUFFER;
typedef DOC_SYMLINK(1) SYMLINK_REPARSE_DATA_BUFFER;

/* REPARSE_DATA_BUFFER structure (ntifs.h), GenericReparseBuffer */
typedef struct {
    ULONG ReparseTag;
    USHORT ReparseDataLength;
    USHORT Reserved;
    UCHAR DataBuffer[8];
} DOC_REPARSE_DATA_BUFFER;

/* REPARSE_GUID_DATA_BUFFER structure (winnt.h), with 8 bytes of data */
typedef struct {
    DWORD ReparseTag;
    WORD ReparseDataLength;
    WORD Reserved;
    GUID ReparseGuid;
    BYTE DataBuffer[8];
} DOC_REPARSE_GUID_DATA_BUFFER;
STATIC_SAME(DOC_REPARSE_GUID_DATA_BUFFER, REPARSE_GUID_DATA_BUFFER, ReparseGuid);
_Static_assert(offsetof(DOC_REPARSE_GUID_DATA_BUFFER, DataBuffer) == REPARSE_GUID_DATA_BUFFER_HEADER_SIZE, "REPARSE_GUID_DATA_BUFFER");

#include "missing.h"

/* ---- examples: every field has a value of its own ---- */

#define EXAMPLE_GUID_1 {0x01020304, 0x0506, 0x0708, {0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10}}
#define EXAMPLE_GUID_2 {0x21222324, 0x2526, 0x2728, {0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f, 0x30}}
#define EXAMPLE_GUID_3 {0x41424344, 0x4546, 0x4748, {0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f, 0x50}}
#define BASIC_DATA_GUID {0xebd0a0a2, 0xb9e5, 0x4433, {0x87, 0xc0, 0x68, 0xb6, 0xb7, 0x26, 0x99, 0xc7}}
#define MSR_GUID {0xe3c9e316, 0x0b5c, 0x4db8, {0x81, 0x7d, 0xf9, 0x2d, 0xf0, 0x02, 0x15, 0xae}}

const STORAGE_DEVICE_NUMBER golden_storage_device_number = {
    .DeviceType = 0x11121314, .DeviceNumber = 0x21222324, .PartitionNumber = 0x31323334,
};

const STORAGE_PROPERTY_QUERY golden_storage_property_query = {
    .PropertyId = StorageDeviceIdProperty, .QueryType = PropertyExistsQuery,
};

const struct {
    STORAGE_DEVICE_DESCRIPTOR Fixed;
    char Vendor[9], Product[7], Revision[5], Serial[11];
} golden_storage_device = {
    .Fixed = {
        .Version = sizeof(STORAGE_DEVICE_DESCRIPTOR),
        .Size = sizeof(STORAGE_DEVICE_DESCRIPTOR) + 9 + 7 + 5 + 11,
        .DeviceType = 0x11,
        .DeviceTypeModifier = 0x12,
        .RemovableMedia = TRUE,
        .CommandQueueing = TRUE,
        .VendorIdOffset = sizeof(STORAGE_DEVICE_DESCRIPTOR),
        .ProductIdOffset = sizeof(STORAGE_DEVICE_DESCRIPTOR) + 9,
        .ProductRevisionOffset = sizeof(STORAGE_DEVICE_DESCRIPTOR) + 9 + 7,
        .SerialNumberOffset = sizeof(STORAGE_DEVICE_DESCRIPTOR) + 9 + 7 + 5,
        .BusType = BusTypeNvme,
    },
    .Vendor = "NVMe    ", .Product = "Disk 1", .Revision = "1.0 ", .Serial = " vol01_0. ",
};

const STORAGE_DEVICE_DESCRIPTOR golden_storage_device_without_strings = {
    .Version = sizeof(STORAGE_DEVICE_DESCRIPTOR), .Size = sizeof(STORAGE_DEVICE_DESCRIPTOR), .BusType = BusTypeiScsi,
};

const STORAGE_ADAPTER_DESCRIPTOR golden_storage_adapter = {
    .Version = sizeof(STORAGE_ADAPTER_DESCRIPTOR), .Size = sizeof(STORAGE_ADAPTER_DESCRIPTOR), .BusType = BusTypeSas,
};

const DOC_STORAGE_DEVICE_ID_DESCRIPTOR golden_storage_device_id = {
    .Version = sizeof(STORAGE_DEVICE_ID_DESCRIPTOR),
    .Size = sizeof(DOC_STORAGE_DEVICE_ID_DESCRIPTOR),
    .NumberOfIdentifiers = 3,
    .First = {StorageIdCodeSetBinary, StorageIdTypeFCPHName, 16, 32, StorageIdAssocPort,
              {0x60, 0x02, 0x24, 0x80, 0x45, 0x4d, 0x55, 0x2d, 0x44, 0x49, 0x53, 0x4b, 0x30, 0x30, 0x30, 0x31}},
    .Second = {StorageIdCodeSetAscii, StorageIdTypeVendorId, 15, 32, StorageIdAssocDevice, "Google  disk-01"},
    .Third = {StorageIdCodeSetUtf8, StorageIdTypeScsiNameString, 4, 0, StorageIdAssocTarget, "iqn."},
};

#pragma pack(push, 1) /* the class driver appends one to the other */
const struct {
    STORAGE_DEVICE_UNIQUE_IDENTIFIER Fixed;
    DOC_STORAGE_DEVICE_ID_DESCRIPTOR DeviceId;
    STORAGE_DEVICE_DESCRIPTOR Device;
    char Serial[3];
} golden_storage_device_unique_id = {
    .Fixed = {
        .Version = 1, /* DUID_VERSION_1 */
        .Size = sizeof(STORAGE_DEVICE_UNIQUE_IDENTIFIER) + sizeof(DOC_STORAGE_DEVICE_ID_DESCRIPTOR) + sizeof(STORAGE_DEVICE_DESCRIPTOR) + 3,
        .StorageDeviceIdOffset = sizeof(STORAGE_DEVICE_UNIQUE_IDENTIFIER),
        .StorageDeviceOffset = sizeof(STORAGE_DEVICE_UNIQUE_IDENTIFIER) + sizeof(DOC_STORAGE_DEVICE_ID_DESCRIPTOR),
    },
    .DeviceId = {
        .Version = sizeof(STORAGE_DEVICE_ID_DESCRIPTOR),
        .Size = sizeof(DOC_STORAGE_DEVICE_ID_DESCRIPTOR),
        .NumberOfIdentifiers = 3,
        .First = {StorageIdCodeSetBinary, StorageIdTypeFCPHName, 16, 32, StorageIdAssocPort,
                  {0x60, 0x02, 0x24, 0x80, 0x45, 0x4d, 0x55, 0x2d, 0x44, 0x49, 0x53, 0x4b, 0x30, 0x30, 0x30, 0x31}},
        .Second = {StorageIdCodeSetAscii, StorageIdTypeVendorId, 15, 32, StorageIdAssocDevice, "Google  disk-01"},
        .Third = {StorageIdCodeSetUtf8, StorageIdTypeScsiNameString, 4, 0, StorageIdAssocTarget, "iqn."},
    },
    .Device = {
        .Version = sizeof(STORAGE_DEVICE_DESCRIPTOR), .Size = sizeof(STORAGE_DEVICE_DESCRIPTOR) + 3,
        .SerialNumberOffset = sizeof(STORAGE_DEVICE_DESCRIPTOR), .BusType = BusTypeSas,
    },
    .Serial = "S1",
};
#pragma pack(pop)

const SCSI_ADDRESS golden_scsi_address = {
    .Length = sizeof(SCSI_ADDRESS), .PortNumber = 0x11, .PathId = 0x22, .TargetId = 0x33, .Lun = 0x44,
};

const DISK_GEOMETRY_EX golden_disk_geometry_ex = {
    .Geometry = {.Cylinders = {.QuadPart = 0x1112131415161718}, .MediaType = FixedMedia, .TracksPerCylinder = 0x31323334,
                 .SectorsPerTrack = 0x41424344, .BytesPerSector = 0x51525354},
    .DiskSize = {.QuadPart = 0x6162636465666768},
};

const GET_LENGTH_INFORMATION golden_length_information = {.Length = {.QuadPart = 0x1112131415161718}};

const GET_DISK_ATTRIBUTES golden_get_disk_attributes = {
    .Version = sizeof(GET_DISK_ATTRIBUTES), .Attributes = DISK_ATTRIBUTE_OFFLINE | 0x2122232425262700,
};

const SET_DISK_ATTRIBUTES golden_set_disk_attributes = {
    .Version = sizeof(SET_DISK_ATTRIBUTES), .Persist = TRUE, .Attributes = DISK_ATTRIBUTE_READ_ONLY | 0x2122232425262700,
    .AttributesMask = 0x3132333435363738,
};

const DOC_DRIVE_LAYOUT_INFORMATION_EX golden_drive_layout_gpt = {
    .PartitionStyle = PARTITION_STYLE_GPT,
    .PartitionCount = 3,
    .Gpt = {.DiskId = EXAMPLE_GUID_1, .StartingUsableOffset = {.QuadPart = 0x1112131415161718},
            .UsableLength = {.QuadPart = 0x2122232425262728}, .MaxPartitionCount = 0x31323334},
    .PartitionEntry = {
        {.PartitionStyle = PARTITION_STYLE_GPT, .StartingOffset = {.QuadPart = 0x4142434445464748},
         .PartitionLength = {.QuadPart = 0x5152535455565758}, .PartitionNumber = 0x61626364, .RewritePartition = TRUE,
         .Gpt = {.PartitionType = MSR_GUID, .PartitionId = EXAMPLE_GUID_2, .Attributes = 0x7172737475767778,
                 .Name = L"Microsoft reserved partition"}},
        {.PartitionStyle = PARTITION_STYLE_GPT, .StartingOffset = {.QuadPart = 17408}, .PartitionLength = {.QuadPart = 1048576},
         .PartitionNumber = 2, .IsServicePartition = TRUE,
         .Gpt = {.PartitionType = BASIC_DATA_GUID, .PartitionId = EXAMPLE_GUID_3,
                 .Attributes = GPT_BASIC_DATA_ATTRIBUTE_NO_DRIVE_LETTER,
                 .Name = {'0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h',
                          'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 0xD83D, 0xDCBE, 0xD800}}},
        {.PartitionStyle = PARTITION_STYLE_RAW},
    },
};

const DOC_DRIVE_LAYOUT_INFORMATION_EX golden_drive_layout_mbr = {
    .PartitionStyle = PARTITION_STYLE_MBR,
    .PartitionCount = 3,
    .Mbr = {.Signature = 0x11121314, .CheckSum = 0x21222324},
    .PartitionEntry = {
        {.PartitionStyle = PARTITION_STYLE_MBR, .StartingOffset = {.QuadPart = 0x4142434445464748},
         .PartitionLength = {.QuadPart = 0x5152535455565758}, .PartitionNumber = 0x61626364, .RewritePartition = TRUE,
         .Mbr = {.PartitionType = PARTITION_IFS, .BootIndicator = TRUE, .HiddenSectors = 0x71727374, .PartitionId = EXAMPLE_GUID_2}},
        {.PartitionStyle = PARTITION_STYLE_MBR, .Mbr = {.PartitionType = 0x83, .RecognizedPartition = TRUE}},
        {.PartitionStyle = PARTITION_STYLE_MBR},
    },
};

const CREATE_DISK golden_create_disk_gpt = {
    .PartitionStyle = PARTITION_STYLE_GPT, .Gpt = {.DiskId = EXAMPLE_GUID_1, .MaxPartitionCount = 0x11121314},
};

const CREATE_DISK golden_create_disk_mbr = {.PartitionStyle = PARTITION_STYLE_MBR, .Mbr = {.Signature = 0x21222324}};

const DISK_GROW_PARTITION golden_grow_partition = {.PartitionNumber = 0x11121314, .BytesToGrow = {.QuadPart = 0x2122232425262728}};

const struct {
    VOLUME_DISK_EXTENTS First;
    DISK_EXTENT Second;
} golden_volume_disk_extents = {
    .First = {.NumberOfDiskExtents = 2,
              .Extents = {{.DiskNumber = 0x11121314, .StartingOffset = {.QuadPart = 0x2122232425262728},
                           .ExtentLength = {.QuadPart = 0x3132333435363738}}}},
    .Second = {.DiskNumber = 0x41424344, .StartingOffset = {.QuadPart = 0x5152535455565758},
               .ExtentLength = {.QuadPart = 0x6162636465666768}},
};

const NTFS_VOLUME_DATA_BUFFER golden_ntfs_volume_data = {
    .VolumeSerialNumber = {.QuadPart = 0x1112131415161718}, .NumberSectors = {.QuadPart = 0x2122232425262728},
    .TotalClusters = {.QuadPart = 0x3132333435363738}, .FreeClusters = {.QuadPart = 0x4142434445464748},
    .TotalReserved = {.QuadPart = 0x5152535455565758}, .BytesPerSector = 0x61626364, .BytesPerCluster = 0x65666768,
    .BytesPerFileRecordSegment = 0x71727374, .ClustersPerFileRecordSegment = 0x75767778,
    .MftValidDataLength = {.QuadPart = 0x0182838485868788}, .MftStartLcn = {.QuadPart = 0x0192939495969798},
    .Mft2StartLcn = {.QuadPart = 0x01a2a3a4a5a6a7a8}, .MftZoneStart = {.QuadPart = 0x01b2b3b4b5b6b7b8},
    .MftZoneEnd = {.QuadPart = 0x01c2c3c4c5c6c7c8},
};

const LARGE_INTEGER golden_extend_volume = {.QuadPart = 0x1112131415161718};

#define VOLUME_NAME L"\\??\\Volume{01020304-0506-0708-090a-0b0c0d0e0f10}\\"
#define CHARACTERS(s) (sizeof(s) / sizeof(WCHAR) - 1)

/* The names of each pair follow each other, each with its NUL. */
const DOC_MOUNT_POINT(CHARACTERS(VOLUME_NAME) + 2) golden_reparse_mount_point = {
    .ReparseTag = IO_REPARSE_TAG_MOUNT_POINT,
    .ReparseDataLength = 8 + sizeof(VOLUME_NAME) + sizeof(L""),
    .SubstituteNameLength = sizeof(VOLUME_NAME) - sizeof(WCHAR),
    .PrintNameOffset = sizeof(VOLUME_NAME),
    .PathBuffer = VOLUME_NAME L"\0",
};

#define LINK_NAME L"\\??\\C:\\dir"
#define LINK_PRINT L"C:\\dir"

const DOC_SYMLINK(CHARACTERS(LINK_NAME) + CHARACTERS(LINK_PRINT) + 2) golden_reparse_symlink = {
    .ReparseTag = IO_REPARSE_TAG_SYMLINK,
    .ReparseDataLength = 12 + sizeof(LINK_NAME) + sizeof(LINK_PRINT),
    .SubstituteNameLength = sizeof(LINK_NAME) - sizeof(WCHAR),
    .PrintNameOffset = sizeof(LINK_NAME),
    .PrintNameLength = sizeof(LINK_PRINT) - sizeof(WCHAR),
    .PathBuffer = LINK_NAME L"\0" LINK_PRINT,
};

const DOC_SYMLINK(CHARACTERS(L"..\\a") + CHARACTERS(L"b") + 2 + 1) golden_reparse_symlink_relative = {
    .ReparseTag = IO_REPARSE_TAG_SYMLINK,
    .ReparseDataLength = 12 + sizeof(L"..\\a") + sizeof(L"bc"),
    .SubstituteNameLength = sizeof(L"..\\a") - sizeof(WCHAR),
    .PrintNameOffset = sizeof(L"..\\a"),
    .PrintNameLength = sizeof(L"bc") - sizeof(WCHAR),
    .Flags = SYMLINK_FLAG_RELATIVE,
    .PathBuffer = L"..\\a\0bc",
};

const DOC_REPARSE_DATA_BUFFER golden_reparse_microsoft = {
    .ReparseTag = IO_REPARSE_TAG_LX_SYMLINK, .ReparseDataLength = 8, .DataBuffer = "\x02\0\0\0/tmp",
};

const DOC_REPARSE_GUID_DATA_BUFFER golden_reparse_foreign = {
    .ReparseTag = 0x00000042, .ReparseDataLength = 8, .ReparseGuid = EXAMPLE_GUID_1, .DataBuffer = {1, 2, 3, 4, 5, 6, 7, 8},
};

const struct {
    ULONG ReparseTag;
    USHORT ReparseDataLength;
    USHORT Reserved;
} golden_delete_reparse_point = {.ReparseTag = IO_REPARSE_TAG_MOUNT_POINT};

#define MOUNTED_PATH L"\\DosDevices\\C:\\dir"
#define MOUNTED_VOLUME L"\\??\\Volume{01020304-0506-0708-090a-0b0c0d0e0f10}"

/* MOUNTMGR_VOLUME_MOUNT_POINT structure (mountmgr.h): the names follow it, without NULs. */
const struct {
    MOUNTMGR_VOLUME_MOUNT_POINT Header;
    WCHAR Names[CHARACTERS(MOUNTED_PATH) + CHARACTERS(MOUNTED_VOLUME)];
} golden_volume_mount_point = {
    .Header = {
        .SourceVolumeNameOffset = sizeof(MOUNTMGR_VOLUME_MOUNT_POINT),
        .SourceVolumeNameLength = CHARACTERS(MOUNTED_PATH) * sizeof(WCHAR),
        .TargetVolumeNameOffset = sizeof(MOUNTMGR_VOLUME_MOUNT_POINT) + CHARACTERS(MOUNTED_PATH) * sizeof(WCHAR),
        .TargetVolumeNameLength = CHARACTERS(MOUNTED_VOLUME) * sizeof(WCHAR),
    },
    .Names = MOUNTED_PATH MOUNTED_VOLUME,
};

#define DEVICE_NAME L"\\Device\\HarddiskVolume1"

/* MOUNTDEV_NAME structure (mountmgr.h): the name has no NUL. */
const struct {
    USHORT NameLength;
    WCHAR Name[CHARACTERS(DEVICE_NAME)];
} golden_mountdev_name = {.NameLength = CHARACTERS(DEVICE_NAME) * sizeof(WCHAR), .Name = DEVICE_NAME};

/* A MOUNTMGR_MOUNT_POINT (mountmgr.h) whose names begin at an offset. */
#define MOUNT_POINT_OF(link, names) {                                                   \
    .SymbolicLinkNameOffset = (names),                                                  \
    .SymbolicLinkNameLength = CHARACTERS(link) * sizeof(WCHAR),                         \
    .DeviceNameOffset = (names) + CHARACTERS(link) * sizeof(WCHAR),                     \
    .DeviceNameLength = CHARACTERS(DEVICE_NAME) * sizeof(WCHAR),                        \
}

const struct {
    MOUNTMGR_MOUNT_POINT Point;
    WCHAR Names[CHARACTERS(MOUNTED_VOLUME) + CHARACTERS(DEVICE_NAME)];
} golden_mount_point = {
    .Point = MOUNT_POINT_OF(MOUNTED_VOLUME, sizeof(MOUNTMGR_MOUNT_POINT)),
    .Names = MOUNTED_VOLUME DEVICE_NAME,
};

#define POINT_NAMES (offsetof(MOUNTMGR_MOUNT_POINTS, MountPoints) + 2 * sizeof(MOUNTMGR_MOUNT_POINT))

/* MOUNTMGR_MOUNT_POINTS structure (mountmgr.h), with the names behind it */
const struct {
    ULONG Size;
    ULONG NumberOfMountPoints;
    MOUNTMGR_MOUNT_POINT MountPoints[2];
    WCHAR Names[CHARACTERS(MOUNTED_VOLUME) + CHARACTERS(MOUNTED_PATH) + 2 * CHARACTERS(DEVICE_NAME)];
} golden_mount_points = {
    .Size = sizeof golden_mount_points, .NumberOfMountPoints = 2,
    .MountPoints = {
        MOUNT_POINT_OF(MOUNTED_VOLUME, POINT_NAMES),
        MOUNT_POINT_OF(MOUNTED_PATH, POINT_NAMES + (CHARACTERS(MOUNTED_VOLUME) + CHARACTERS(DEVICE_NAME)) * sizeof(WCHAR)),
    },
    .Names = MOUNTED_VOLUME DEVICE_NAME MOUNTED_PATH DEVICE_NAME,
};

const FILE_BASIC_INFO golden_file_basic = {
    .CreationTime = {.QuadPart = 0x1112131415161718}, .LastAccessTime = {.QuadPart = 0x2122232425262728},
    .LastWriteTime = {.QuadPart = 0x3132333435363738}, .ChangeTime = {.QuadPart = 0x4142434445464748},
    .FileAttributes = 0x51525354,
};

const FILE_STANDARD_INFO golden_file_standard_pending = {
    .AllocationSize = {.QuadPart = 0x1112131415161718}, .EndOfFile = {.QuadPart = 0x2122232425262728},
    .NumberOfLinks = 0x31323334, .DeletePending = TRUE,
};

const FILE_STANDARD_INFO golden_file_standard_directory = {.NumberOfLinks = 1, .Directory = TRUE};

const FILE_ATTRIBUTE_TAG_INFO golden_file_attribute_tag = {.FileAttributes = 0x11121314, .ReparseTag = 0x21222324};

const FILE_DISPOSITION_INFO golden_file_disposition = {.DeleteFile = TRUE};

const FILE_DISPOSITION_INFO_EX golden_file_disposition_ex = {.Flags = 0x11121314};

const FILE_FS_FULL_SIZE_INFORMATION golden_file_fs_full_size = {
    .TotalAllocationUnits = {.QuadPart = 0x1112131415161718}, .CallerAvailableAllocationUnits = {.QuadPart = 0x2122232425262728},
    .ActualAvailableAllocationUnits = {.QuadPart = 0x3132333435363738}, .SectorsPerAllocationUnit = 0x41424344,
    .BytesPerSector = 0x51525354,
};

/* FILE_RENAME_INFO with a name of four units, which fills the structure and the bytes that Windows asks for behind it. */
const struct {
    BOOLEAN ReplaceIfExists;
    HANDLE RootDirectory;
    DWORD FileNameLength;
    WCHAR FileName[4];
} golden_file_rename = {
    .RootDirectory = (HANDLE)0x1112131415161718, .FileNameLength = 8, .FileName = {'n', 'a', 'm', 'e'},
};

typedef DOC_FILE_FULL_DIR_INFO(1) ENTRY_1; /* 70 bytes, and 2 of padding */
typedef DOC_FILE_FULL_DIR_INFO(5) ENTRY_5; /* 78 bytes, and 2 of padding */
typedef DOC_FILE_FULL_DIR_INFO(6) ENTRY_6; /* 80 bytes */

const struct {
    ENTRY_1 First;
    ENTRY_5 Second;
    ENTRY_6 Third;
} golden_directory_entries = {
    .First = {.NextEntryOffset = sizeof(ENTRY_1), .FileAttributes = FILE_ATTRIBUTE_DIRECTORY, .FileNameLength = 2, .FileName = {'.'}},
    .Second = {.NextEntryOffset = sizeof(ENTRY_5), .FileIndex = 0x11121314, .CreationTime = {.QuadPart = 0x2122232425262728},
               .LastAccessTime = {.QuadPart = 0x3132333435363738}, .LastWriteTime = {.QuadPart = 0x4142434445464748},
               .ChangeTime = {.QuadPart = 0x5152535455565758}, .EndOfFile = {.QuadPart = 0x6162636465666768},
               .AllocationSize = {.QuadPart = 0x7172737475767778}, .FileAttributes = FILE_ATTRIBUTE_ARCHIVE,
               .FileNameLength = 10, .FileName = {'a', 0xE9, 0xD83D, 0xDCBE, 0xDC00}},
    .Third = {.FileAttributes = FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT, .FileNameLength = 12,
              .EaSize = IO_REPARSE_TAG_SYMLINK, .FileName = {'m', 'o', 'u', 'n', 't', 's'}},
};

#include "iscsi.h"

/* ---- the table that extract.go prints, in this order ---- */

struct record {
    char kind[8]; /* "const", "list", "size", "offset", "bytes", and "struct", "member" of structures that Go declares as well */
    char name[88];
    unsigned long long value;
};

#define NUMBER64(name) {"const", #name, (unsigned long long)(name)}
#define SIZE(type, shown) {"size", shown, sizeof(type)}
#define FIELD(type, shown, field) {"offset", shown "." #field, offsetof(type, field)}
#define STRUCT(type, shown) {"struct", shown, sizeof(type)}
#define MEMBER(type, shown, field) {"member", shown "." #field, offsetof(type, field)}
#define BYTES(type, shown, object) {"bytes", #object, sizeof(golden_##object)}

/* EACH(MACRO, type, shown, a, b, …) is MACRO(type, shown, a), MACRO(type, shown, b), …: each scan makes one. */
#define EACH(macro, type, shown, ...) SCAN(EACH_FIRST(macro, type, shown, __VA_ARGS__))
#define EACH_FIRST(macro, type, shown, a, ...) macro(type, shown, a) __VA_OPT__(, EACH_NEXT NOTHING (macro, type, shown, __VA_ARGS__))
#define EACH_NEXT() EACH_FIRST
#define NOTHING ()
#define SCAN(...) SCAN_4(SCAN_4(SCAN_4(SCAN_4(__VA_ARGS__))))
#define SCAN_4(...) SCAN_1(SCAN_1(SCAN_1(SCAN_1(__VA_ARGS__))))
#define SCAN_1(...) __VA_ARGS__

#define LAYOUT(type, ...) SIZE(type, #type), EACH(FIELD, type, #type, __VA_ARGS__)
#define X_LAYOUT(type, ...) SIZE(X_##type, #type), EACH(FIELD, X_##type, #type, __VA_ARGS__)
#define STRUCTURE(type, ...) STRUCT(type, #type), EACH(MEMBER, type, #type, __VA_ARGS__)
#define X_STRUCTURE(type, ...) STRUCT(X_##type, #type), EACH(MEMBER, X_##type, #type, __VA_ARGS__)
#define OBJECTS(...) EACH(BYTES, , , __VA_ARGS__)

/* A list of constants is two objects, its names as one text and their values: EACH would hand on the values alone. */
#define CONSTANTS(list, ...) const char names_##list[] = #__VA_ARGS__; const unsigned values_##list[] = {__VA_ARGS__};
#define LIST(list) {"list", #list, sizeof values_##list / sizeof *values_##list}
#include "constants.h"

const struct record golden[] = {
#include "table.h"
#include "iscsi_table.h"
#include "struct_table.h"
    {"", "", 0},
};
