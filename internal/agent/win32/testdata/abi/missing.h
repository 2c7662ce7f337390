/* SPDX-License-Identifier: Apache-2.0
 *
 * Constants that Microsoft documents and the headers lack. Control codes are computed, as the documentation has them,
 * from device type, function, method and access.
 */

/* System Error Codes (0-499) */
#ifndef ERROR_DEVICE_UNREACHABLE
#define ERROR_DEVICE_UNREACHABLE 321L
#endif
#ifndef ERROR_SMB1_NOT_AVAILABLE
#define ERROR_SMB1_NOT_AVAILABLE 384L
#endif
#ifndef ERROR_NO_SUCH_DEVICE
#define ERROR_NO_SUCH_DEVICE 433L
#endif
#ifndef ERROR_DEVICE_HARDWARE_ERROR
#define ERROR_DEVICE_HARDWARE_ERROR 483L
#endif

/* System Error Codes (1000-1299) */
#ifndef ERROR_SMB_GUEST_LOGON_BLOCKED
#define ERROR_SMB_GUEST_LOGON_BLOCKED 1272L
#endif
#ifndef ERROR_DISK_QUOTA_EXCEEDED
#define ERROR_DISK_QUOTA_EXCEEDED 1295L
#endif

/* System Error Codes (4000-5999) */
#ifndef ERROR_REPARSE_POINT_ENCOUNTERED
#define ERROR_REPARSE_POINT_ENCOUNTERED 4395L
#endif

/* COM Error Codes (TPM, PLA, FVE) */
#ifndef FVE_E_LOCKED_VOLUME
#define FVE_E_LOCKED_VOLUME 0x80310000L
#endif

/* IOCTL_DISK_GET_DISK_ATTRIBUTES, IOCTL_DISK_SET_DISK_ATTRIBUTES (winioctl.h) */
#ifndef IOCTL_DISK_GET_DISK_ATTRIBUTES
#define IOCTL_DISK_GET_DISK_ATTRIBUTES CTL_CODE(IOCTL_DISK_BASE, 0x003c, METHOD_BUFFERED, FILE_ANY_ACCESS)
#define IOCTL_DISK_SET_DISK_ATTRIBUTES CTL_CODE(IOCTL_DISK_BASE, 0x003d, METHOD_BUFFERED, FILE_READ_ACCESS | FILE_WRITE_ACCESS)
#define DISK_ATTRIBUTE_OFFLINE 0x0000000000000001ull
#define DISK_ATTRIBUTE_READ_ONLY 0x0000000000000002ull
#endif

/* [MS-FSCC] 2.1.2.1 Reparse Tags */
#ifndef IO_REPARSE_TAG_LX_SYMLINK
#define IO_REPARSE_TAG_LX_SYMLINK 0xA000001Dl
#endif

/* FILE_INFO_BY_HANDLE_CLASS enumeration (minwinbase.h): behind FileDispositionInfoEx the header's enumeration is
 * hidden by a wrong condition. Its predecessor's value is checked. */
_Static_assert(FileIdExtdDirectoryInfo == 19 && FileIdExtdDirectoryRestartInfo == 20, "FILE_INFO_BY_HANDLE_CLASS");
#define FileDispositionInfoEx 21

/* Values of the property Status of the WMI class MSFT_SmbMapping, which no header has; the names are this project's. */
#define SMB_MAPPING_OK 0
#define SMB_MAPPING_DISCONNECTED 2
#define SMB_MAPPING_UNAVAILABLE 6

