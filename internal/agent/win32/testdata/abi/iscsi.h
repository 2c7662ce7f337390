/* SPDX-License-Identifier: Apache-2.0
 *
 * iSCSI: the layouts in mingw-w64's iscsidsc.h differ from Microsoft's, and there is no iscsierr.h. The declarations here
 * follow the documentation's field lists, with natural alignment; structures have the documented names prefixed with X_.
 * Pointers are numbers here: their objects are found by their address in the caller's buffer.
 */

/* ISCSI_STATUS_QUALIFIERS (iscsierr.h) */
#define ISDSC_OPERATION_NOT_ALL_SUCCESS 0xAFFF002E
#define ISDSC_OPERATION_REQUIRES_REBOOT 0xAFFF003B
#define ISDSC_SHORT_CHAP_SECRET 0xAFFF0048
#define ISDSC_LOGIN_FAILED 0xEFFF0002
#define ISDSC_CONNECTION_FAILED 0xEFFF0003
#define ISDSC_TARGET_MOVED_TEMPORARILY 0xEFFF0006
#define ISDSC_TARGET_MOVED_PERMANENTLY 0xEFFF0007
#define ISDSC_AUTHENTICATION_FAILURE 0xEFFF0009
#define ISDSC_AUTHORIZATION_FAILURE 0xEFFF000A
#define ISDSC_NOT_FOUND 0xEFFF000B
#define ISDSC_TARGET_REMOVED 0xEFFF000C
#define ISDSC_TARGET_ERROR 0xEFFF0012
#define ISDSC_SERVICE_UNAVAILABLE 0xEFFF0013
#define ISDSC_OUT_OF_RESOURCES 0xEFFF0014
#define ISDSC_CONNECTION_ALREADY_EXISTS 0xEFFF0015
#define ISDSC_SESSION_ALREADY_EXISTS 0xEFFF0016
#define ISDSC_INVALID_TEXT_KEY 0xEFFF001A
#define ISDSC_INVALID_SENDTARGETS_TEXT 0xEFFF001B
#define ISDSC_INVALID_SESSION_ID 0xEFFF001C
#define ISDSC_TOO_MANY_SESSIONS 0xEFFF001E
#define ISDSC_SESSION_BUSY 0xEFFF001F
#define ISDSC_LOGON_FAILED 0xEFFF0022
#define ISDSC_TRANSPORT_ERROR 0xEFFF0024
#define ISDSC_TARGET_AUTHINFO_UNAVAILABLE 0xEFFF0028
#define ISDSC_TARGET_NOT_FOUND 0xEFFF0029
#define ISDSC_LOGIN_USER_INFO_BAD 0xEFFF002A
#define ISDSC_TARGET_PORTAL_ALREADY_EXISTS 0xEFFF0032
#define ISDSC_TARGET_ADDRESS_ALREADY_EXISTS 0xEFFF0033
#define ISDSC_NO_AUTH_INFO_AVAILABLE 0xEFFF0034
#define ISDSC_REQUEST_NOT_SUPPORTED 0xEFFF0037
#define ISDSC_SERVICE_DID_NOT_RESPOND 0xEFFF0039
#define ISDSC_NO_PORTAL_SPECIFIED 0xEFFF003C
#define ISDSC_SERVICE_NOT_RUNNING 0xEFFF003E
#define ISDSC_TARGET_ALREADY_LOGGED_IN 0xEFFF003F
#define ISDSC_DEVICE_BUSY_ON_SESSION 0xEFFF0040
#define ISDSC_PORTAL_NOT_FOUND 0xEFFF0043
#define ISDSC_INITIATOR_NOT_FOUND 0xEFFF0044
#define ISDSC_INVALID_CHAP_SECRET 0xEFFF004A
#define ISDSC_INVALID_TARGET_CHAP_SECRET 0xEFFF004B
#define ISDSC_INVALID_INITIATOR_CHAP_SECRET 0xEFFF004C
#define ISDSC_INVALID_CHAP_USER_NAME 0xEFFF004D
#define ISDSC_INVALID_LOGON_AUTH_TYPE 0xEFFF004E
#define ISDSC_INVALID_ISCSI_NAME 0xEFFF0051
#define ISDSC_BUFFER_TOO_SMALL 0xEFFF0054
#define ISDSC_INVALID_PARAMETER 0xEFFF0056
#define ISDSC_DEVICE_NOT_FOUND 0xEFFF005D
#define ISDSC_DNS_NAME_UNRESOLVED 0xEFFF005F
#define ISDSC_NO_CONNECTION_AVAILABLE 0xEFFF0060
#define ISDSC_RESTRICTED_BY_GROUP_POLICY 0xEFFF0065

/* ISCSI_LOGIN_OPTIONS structure, ISCSI_AUTH_TYPES enumeration, GetIScsiSessionListW (iscsidsc.h) */
#define ISCSI_LOGIN_OPTIONS_USERNAME 0x00000020
#define ISCSI_LOGIN_OPTIONS_PASSWORD 0x00000040
#define ISCSI_LOGIN_OPTIONS_AUTH_TYPE 0x00000080
#define ISCSI_NO_AUTH_TYPE 0
#define ISCSI_CHAP_AUTH_TYPE 1
#define ISCSI_MUTUAL_CHAP_AUTH_TYPE 2
#define ISCSI_ANY_INITIATOR_PORT 0xFFFFFFFF

/* TARGET_INFORMATION_CLASS enumeration */
#define DiscoveryMechanisms 2

/* ISCSI_UNIQUE_SESSION_ID structure */
typedef struct {
    ULONGLONG AdapterUnique;
    ULONGLONG AdapterSpecific;
} X_ISCSI_UNIQUE_SESSION_ID;

/* ISCSI_TARGET_PORTALW structure */
typedef struct {
    WCHAR SymbolicName[256];
    WCHAR Address[256];
    USHORT Socket;
} X_ISCSI_TARGET_PORTALW;

/* ISCSI_TARGET_PORTAL_INFOW structure */
typedef struct {
    WCHAR InitiatorName[256];
    ULONG InitiatorPortNumber;
    WCHAR SymbolicName[256];
    WCHAR Address[256];
    USHORT Socket;
} X_ISCSI_TARGET_PORTAL_INFOW;

/* ISCSI_LOGIN_OPTIONS structure */
typedef struct {
    ULONG Version;
    ULONG InformationSpecified;
    ULONG LoginFlags;
    int AuthType;
    int HeaderDigest;
    int DataDigest;
    ULONG MaximumConnections;
    ULONG DefaultTime2Wait;
    ULONG DefaultTime2Retain;
    ULONG UsernameLength;
    ULONG PasswordLength;
    ULONGLONG Username;
    ULONGLONG Password;
} X_ISCSI_LOGIN_OPTIONS;
_Static_assert(sizeof(X_ISCSI_LOGIN_OPTIONS) == 64 && offsetof(X_ISCSI_LOGIN_OPTIONS, Username) == 48, "ISCSI_LOGIN_OPTIONS");

/* ISCSI_CONNECTION_INFOW structure */
typedef struct {
    X_ISCSI_UNIQUE_SESSION_ID ConnectionId;
    ULONGLONG InitiatorAddress;
    ULONGLONG TargetAddress;
    USHORT InitiatorSocket;
    USHORT TargetSocket;
    UCHAR CID[2];
} X_ISCSI_CONNECTION_INFOW;

/* ISCSI_SESSION_INFOW structure */
typedef struct {
    X_ISCSI_UNIQUE_SESSION_ID SessionId;
    ULONGLONG InitiatorName;
    ULONGLONG TargetNodeName;
    ULONGLONG TargetName;
    UCHAR ISID[6];
    UCHAR TSID[2];
    ULONG ConnectionCount;
    ULONGLONG Connections;
} X_ISCSI_SESSION_INFOW;

/* ISCSI_DEVICE_ON_SESSIONW structure */
typedef struct {
    WCHAR InitiatorName[256];
    WCHAR TargetName[224];
    SCSI_ADDRESS ScsiAddress;
    GUID DeviceInterfaceType;
    WCHAR DeviceInterfaceName[260];
    WCHAR LegacyName[260];
    STORAGE_DEVICE_NUMBER StorageDeviceNumber;
    DWORD DeviceInstance;
} X_ISCSI_DEVICE_ON_SESSIONW;

/* PERSISTENT_ISCSI_LOGIN_INFOW structure */
typedef struct {
    WCHAR TargetName[224];
    BOOLEAN IsInformationalSession;
    WCHAR InitiatorInstance[256];
    ULONG InitiatorPortNumber;
    X_ISCSI_TARGET_PORTALW TargetPortal;
    ULONGLONG SecurityFlags;
    ULONGLONG Mappings;
    X_ISCSI_LOGIN_OPTIONS LoginOptions;
} X_PERSISTENT_ISCSI_LOGIN_INFOW;

/* ---- examples ---- */

const X_ISCSI_UNIQUE_SESSION_ID golden_iscsi_unique_id = {0x1112131415161718, 0x2122232425262728};

const X_ISCSI_TARGET_PORTALW golden_iscsi_target_portal = {.SymbolicName = L"rack 1", .Address = L"192.0.2.10", .Socket = 3260};

const X_ISCSI_TARGET_PORTAL_INFOW golden_iscsi_target_portals[2] = {
    {.InitiatorName = L"ROOT\\ISCSIPRT\\0000_0", .InitiatorPortNumber = 0x11121314, .SymbolicName = L"s", .Address = L"2001:db8::1", .Socket = 0x2122},
    {.InitiatorPortNumber = ISCSI_ANY_INITIATOR_PORT, .Address = L"array.example", .Socket = 3260},
};

#define SESSIONS_BASE 0x00007FF612340000 /* the address of the caller's buffer */

typedef struct {
    X_ISCSI_SESSION_INFOW Sessions[2];
    X_ISCSI_CONNECTION_INFOW Connections[1];
    WCHAR Initiator[4];
    WCHAR Target[6];
    WCHAR InitiatorAddress[10];
    WCHAR TargetAddress[11];
} SESSION_LIST;

#define AT(field) (SESSIONS_BASE + offsetof(SESSION_LIST, field))

const SESSION_LIST golden_iscsi_session_list = {
    .Sessions = {
        {.SessionId = {0x1112131415161718, 0x2122232425262728}, .InitiatorName = AT(Initiator), .TargetNodeName = AT(Target),
         .TargetName = AT(Target), .ISID = {0x31, 0x32, 0x33, 0x34, 0x35, 0x36}, .TSID = {0x41, 0x42}, .ConnectionCount = 1, .Connections = AT(Connections)},
        {.SessionId = {0x5152535455565758, 0x6162636465666768}, .TargetName = AT(Target)},
    },
    .Connections = {{.ConnectionId = {0x7172737475767778, 0x0182838485868788}, .InitiatorAddress = AT(InitiatorAddress),
                     .TargetAddress = AT(TargetAddress), .InitiatorSocket = 0x1112, .TargetSocket = 3260, .CID = {0x21, 0x22}}},
    .Initiator = L"iqn", .Target = L"eui.1", .InitiatorAddress = L"192.0.2.1", .TargetAddress = L"192.0.2.10",
};

const X_ISCSI_DEVICE_ON_SESSIONW golden_iscsi_devices[2] = {
    {.InitiatorName = L"iqn.a", .TargetName = L"iqn.b", .ScsiAddress = {sizeof(SCSI_ADDRESS), 0x11, 0x22, 0x33, 0x44},
     .DeviceInterfaceType = {0x01020304, 0x0506, 0x0708, {9, 10, 11, 12, 13, 14, 15, 16}},
     .DeviceInterfaceName = L"\\\\?\\disk", .LegacyName = L"\\\\.\\PhysicalDrive3",
     .StorageDeviceNumber = {7, 3, 0x31323334}, .DeviceInstance = 0x41424344},
    {.ScsiAddress = {.Length = sizeof(SCSI_ADDRESS)}, .StorageDeviceNumber = {0, 0xFFFFFFFF, 0xFFFFFFFF}},
};

const X_PERSISTENT_ISCSI_LOGIN_INFOW golden_iscsi_persistent_logins[2] = {
    {.TargetName = L"iqn.b", .IsInformationalSession = TRUE, .InitiatorInstance = L"ROOT", .InitiatorPortNumber = 0x11121314,
     .TargetPortal = {.SymbolicName = L"s", .Address = L"a", .Socket = 0x2122}, .SecurityFlags = 0x3132333435363738},
    {.TargetName = L"naa.5"},
};
