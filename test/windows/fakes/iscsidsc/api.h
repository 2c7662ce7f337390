// SPDX-License-Identifier: Apache-2.0
//
// The structures and codes of the iSCSI Discovery Library API, as iscsidsc.h of the Windows SDK has them.
//
// mingw-w64's own iscsidsc.h cannot be included: it names both forms of ISCSI_TARGET_PORTAL_INFO_EX alike, lacks
// MAX_ISCSI_NAME_LEN, and declares strings of sessions and connections as single characters. These declarations follow
// Microsoft's pages (https://learn.microsoft.com/windows/win32/api/iscsidsc/) and the layout of the windows-sys crate,
// module Win32::Storage::IscsiDisc, which Microsoft generates from the SDK's header. The sizes asserted below are those
// with which wk8/go-win-iscsidsc reads whole answers of a real initiator.
#ifndef FAKE_ISCSIDSC_API_H
#define FAKE_ISCSIDSC_API_H

#include <windows.h>
#include <winioctl.h>
#include <ntddscsi.h>

typedef ULONG ISDSC_STATUS;

#define MAX_ISCSI_NAME_LEN 223
#define MAX_ISCSI_ALIAS_LEN 255
#define MAX_ISCSI_HBANAME_LEN 256
#define MAX_ISCSI_PORTAL_NAME_LEN 256
#define MAX_ISCSI_PORTAL_ADDRESS_LEN 256
#define ISCSI_ANY_INITIATOR_PORT 0xFFFFFFFFu // also ISCSI_ALL_INITIATOR_PORTS

// The codes: https://learn.microsoft.com/windows-hardware/drivers/storage/iscsi-status-qualifiers
// The SDK's iscsierr.h has two of them as warnings, 0xAFFF002E and 0xAFFF0048; a test injects these with "lost".
#define ISDSC_CONNECTION_FAILED 0xEFFF0003u
#define ISDSC_AUTHENTICATION_FAILURE 0xEFFF0009u
#define ISDSC_NOT_FOUND 0xEFFF000Bu
#define ISDSC_TOO_MANY_CONNECTIONS 0xEFFF000Eu
#define ISDSC_INVALID_SESSION_ID 0xEFFF001Cu
#define ISDSC_TARGET_AUTHINFO_UNAVAILABLE 0xEFFF0028u
#define ISDSC_TARGET_NOT_FOUND 0xEFFF0029u
#define ISDSC_REQUEST_NOT_SUPPORTED 0xEFFF0037u
#define ISDSC_NO_PORTAL_SPECIFIED 0xEFFF003Cu
#define ISDSC_CANT_REMOVE_LAST_CONNECTION 0xEFFF003Du
#define ISDSC_SERVICE_NOT_RUNNING 0xEFFF003Eu
#define ISDSC_TARGET_ALREADY_LOGGED_IN 0xEFFF003Fu
#define ISDSC_DEVICE_BUSY_ON_SESSION 0xEFFF0040u
#define ISDSC_PORTAL_NOT_FOUND 0xEFFF0043u
#define ISDSC_INITIATOR_NOT_FOUND 0xEFFF0044u
#define ISDSC_DISCOVERY_MECHANISM_NOT_FOUND 0xEFFF0045u
#define ISDSC_SHORT_CHAP_SECRET 0xEFFF0048u
#define ISDSC_INVALID_TARGET_CHAP_SECRET 0xEFFF004Bu
#define ISDSC_INVALID_INITIATOR_CHAP_SECRET 0xEFFF004Cu
#define ISDSC_INVALID_LOGON_AUTH_TYPE 0xEFFF004Eu
#define ISDSC_INVALID_ISCSI_NAME 0xEFFF0051u
#define ISDSC_DEVICE_ALREADY_PERSISTENTLY_BOUND 0xEFFF005Cu
#define ISDSC_DEVICE_NOT_FOUND 0xEFFF005Du
#define ISDSC_DEVICE_NOT_ISCSI_OR_PERSISTENT 0xEFFF005Eu
#define ISDSC_DNS_NAME_UNRESOLVED 0xEFFF005Fu
#define ISDSC_INVALID_CONNECTION_ID 0xEFFF0063u
#define ISDSC_CANNOT_REMOVE_LEADING_CONNECTION 0xEFFF0064u

enum { ISCSI_NO_AUTH_TYPE, ISCSI_CHAP_AUTH_TYPE, ISCSI_MUTUAL_CHAP_AUTH_TYPE };

#define ISCSI_LOGIN_OPTIONS_HEADER_DIGEST 0x01
#define ISCSI_LOGIN_OPTIONS_DATA_DIGEST 0x02
#define ISCSI_LOGIN_OPTIONS_MAXIMUM_CONNECTIONS 0x04
#define ISCSI_LOGIN_OPTIONS_USERNAME 0x20
#define ISCSI_LOGIN_OPTIONS_PASSWORD 0x40
#define ISCSI_LOGIN_OPTIONS_AUTH_TYPE 0x80
#define ISCSI_LOGIN_OPTIONS_ALL 0xFF

#define ISCSI_LOGIN_FLAG_MULTIPATH_ENABLED 0x02
#define ISCSI_LOGIN_FLAG_RESERVED1 0x04
#define ISCSI_LOGIN_FLAGS_ALL 0x3F

#define ISCSI_SECURITY_FLAG_VALID 0x01
#define ISCSI_SECURITY_FLAG_IKE_IPSEC_ENABLED 0x02
#define ISCSI_SECURITY_FLAG_MAIN_MODE_ENABLED 0x04
#define ISCSI_SECURITY_FLAG_AGGRESSIVE_MODE_ENABLED 0x08
#define ISCSI_SECURITY_FLAG_TRANSPORT_MODE_PREFERRED 0x20
#define ISCSI_SECURITY_FLAG_TUNNEL_MODE_PREFERRED 0x40
#define ISCSI_SECURITY_FLAGS_ALL 0x7F

#define ISCSI_TARGET_FLAG_HIDE_STATIC_TARGET 0x2
#define ISCSI_TARGET_FLAG_MERGE_TARGET_INFORMATION 0x4

typedef struct {
	ULONG Version;
	ULONG InformationSpecified;
	ULONG LoginFlags;
	LONG AuthType;
	LONG HeaderDigest;
	LONG DataDigest;
	ULONG MaximumConnections;
	ULONG DefaultTime2Wait;
	ULONG DefaultTime2Retain;
	ULONG UsernameLength;
	ULONG PasswordLength;
	PUCHAR Username;
	PUCHAR Password;
} ISCSI_LOGIN_OPTIONS;

typedef struct {
	WCHAR SymbolicName[MAX_ISCSI_PORTAL_NAME_LEN];
	WCHAR Address[MAX_ISCSI_PORTAL_ADDRESS_LEN];
	USHORT Socket;
} ISCSI_TARGET_PORTALW;

typedef struct {
	ULONG Count;
	ISCSI_TARGET_PORTALW Portals[1];
} ISCSI_TARGET_PORTAL_GROUPW;

typedef struct {
	WCHAR InitiatorName[MAX_ISCSI_HBANAME_LEN];
	ULONG InitiatorPortNumber;
	WCHAR SymbolicName[MAX_ISCSI_PORTAL_NAME_LEN];
	WCHAR Address[MAX_ISCSI_PORTAL_ADDRESS_LEN];
	USHORT Socket;
} ISCSI_TARGET_PORTAL_INFOW;

typedef struct {
	WCHAR InitiatorName[MAX_ISCSI_HBANAME_LEN];
	ULONG InitiatorPortNumber;
	WCHAR SymbolicName[MAX_ISCSI_PORTAL_NAME_LEN];
	WCHAR Address[MAX_ISCSI_PORTAL_ADDRESS_LEN];
	USHORT Socket;
	ULONGLONG SecurityFlags;
	ISCSI_LOGIN_OPTIONS LoginOptions;
} ISCSI_TARGET_PORTAL_INFO_EXW;

typedef struct {
	ULONGLONG AdapterUnique;
	ULONGLONG AdapterSpecific;
} ISCSI_UNIQUE_ID; // of a session or of a connection

typedef struct {
	ULONG OSLUN;
	ULONGLONG TargetLUN;
} FAKE_LUN_LIST; // SCSI_LUN_LIST; ntddscsi.h may have the name

typedef struct {
	WCHAR InitiatorName[MAX_ISCSI_HBANAME_LEN];
	WCHAR TargetName[MAX_ISCSI_NAME_LEN + 1];
	WCHAR OSDeviceName[MAX_PATH];
	ISCSI_UNIQUE_ID SessionId;
	ULONG OSBusNumber;
	ULONG OSTargetNumber;
	ULONG LUNCount;
	FAKE_LUN_LIST *LUNList;
} ISCSI_TARGET_MAPPINGW;

typedef struct {
	WCHAR TargetName[MAX_ISCSI_NAME_LEN + 1];
	BOOLEAN IsInformationalSession;
	WCHAR InitiatorInstance[MAX_ISCSI_HBANAME_LEN];
	ULONG InitiatorPortNumber;
	ISCSI_TARGET_PORTALW TargetPortal;
	ULONGLONG SecurityFlags;
	ISCSI_TARGET_MAPPINGW *Mappings;
	ISCSI_LOGIN_OPTIONS LoginOptions;
} PERSISTENT_ISCSI_LOGIN_INFOW;

typedef struct {
	ISCSI_UNIQUE_ID ConnectionId;
	PWSTR InitiatorAddress;
	PWSTR TargetAddress;
	USHORT InitiatorSocket;
	USHORT TargetSocket;
	UCHAR CID[2];
} ISCSI_CONNECTION_INFOW;

typedef struct {
	ISCSI_UNIQUE_ID SessionId;
	PWSTR InitiatorName;
	PWSTR TargetNodeName;
	PWSTR TargetName;
	UCHAR ISID[6];
	UCHAR TSID[2];
	ULONG ConnectionCount;
	ISCSI_CONNECTION_INFOW *Connections;
} ISCSI_SESSION_INFOW;

typedef struct {
	WCHAR InitiatorName[MAX_ISCSI_HBANAME_LEN];
	WCHAR TargetName[MAX_ISCSI_NAME_LEN + 1];
	SCSI_ADDRESS ScsiAddress;
	GUID DeviceInterfaceType;
	WCHAR DeviceInterfaceName[MAX_PATH];
	WCHAR LegacyName[MAX_PATH];
	STORAGE_DEVICE_NUMBER StorageDeviceNumber;
	DWORD DeviceInstance;
} ISCSI_DEVICE_ON_SESSIONW;

typedef struct {
	ULONG MajorVersion;
	ULONG MinorVersion;
	ULONG BuildNumber;
} ISCSI_VERSION_INFO;

typedef enum {
	ProtocolType,
	TargetAlias,
	DiscoveryMechanisms,
	PortalGroups,
	PersistentTargetMappings,
	InitiatorName,
	TargetFlags,
	LoginOptions
} TARGET_INFORMATION_CLASS;

#ifdef _WIN64
_Static_assert(sizeof(ISCSI_LOGIN_OPTIONS) == 64, "ISCSI_LOGIN_OPTIONS");
_Static_assert(sizeof(ISCSI_TARGET_PORTALW) == 1026, "ISCSI_TARGET_PORTALW");
_Static_assert(sizeof(ISCSI_TARGET_PORTAL_INFO_EXW) == 1616, "ISCSI_TARGET_PORTAL_INFO_EXW");
_Static_assert(sizeof(ISCSI_SESSION_INFOW) == 64, "ISCSI_SESSION_INFOW");
_Static_assert(sizeof(ISCSI_CONNECTION_INFOW) == 40, "ISCSI_CONNECTION_INFOW");
#endif

#endif
