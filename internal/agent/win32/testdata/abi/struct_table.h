/* SPDX-License-Identifier: Apache-2.0
 *
 * Structures that are handed to Windows as Go structures, and not as bytes: their sizes and field offsets.
 */

/* internal/agent/kernel/windows/winapi */
X_STRUCTURE(ISCSI_LOGIN_OPTIONS, Version, InformationSpecified, LoginFlags, AuthType, HeaderDigest, DataDigest,
    MaximumConnections, DefaultTime2Wait, DefaultTime2Retain, UsernameLength, PasswordLength, Username, Password),
X_STRUCTURE(ISCSI_UNIQUE_SESSION_ID, AdapterUnique, AdapterSpecific),

/* golang.org/x/sys/windows, as far as internal/agent/kernel/windows uses it */
STRUCTURE(SERVICE_STATUS_PROCESS, dwServiceType, dwCurrentState, dwControlsAccepted, dwWin32ExitCode,
    dwServiceSpecificExitCode, dwCheckPoint, dwWaitHint, dwProcessId, dwServiceFlags),
STRUCTURE(QUERY_SERVICE_CONFIGW, dwServiceType, dwStartType, dwErrorControl, lpBinaryPathName, lpLoadOrderGroup,
    dwTagId, lpDependencies, lpServiceStartName, lpDisplayName),
STRUCTURE(ENUM_SERVICE_STATUSW, lpServiceName, lpDisplayName, ServiceStatus),
STRUCTURE(OBJECT_ATTRIBUTES, Length, RootDirectory, ObjectName, Attributes, SecurityDescriptor,
    SecurityQualityOfService),
STRUCTURE(UNICODE_STRING, Length, MaximumLength, Buffer),
STRUCTURE(IO_STATUS_BLOCK, Status, Information),
STRUCTURE(OVERLAPPED, Internal, InternalHigh, Offset, OffsetHigh, hEvent),

/* kernel/windows/winapitest */
STRUCTURE(USER_INFO_1, usri1_name, usri1_password, usri1_password_age, usri1_priv, usri1_home_dir, usri1_comment,
    usri1_flags, usri1_script_path),
STRUCTURE(SHARE_INFO_502, shi502_netname, shi502_type, shi502_remark, shi502_permissions, shi502_max_uses,
    shi502_current_uses, shi502_path, shi502_passwd, shi502_reserved, shi502_security_descriptor),
STRUCTURE(MSG, hwnd, message, wParam, lParam, time, pt),
STRUCTURE(NETRESOURCEW, dwScope, dwType, dwDisplayType, dwUsage, lpLocalName, lpRemoteName, lpComment, lpProvider),
STRUCTURE(RESIZE_VIRTUAL_DISK_PARAMETERS, Version, Version1.NewSize),
