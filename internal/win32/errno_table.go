// SPDX-License-Identifier: Apache-2.0

package win32

// Error codes that the agent meets, under their names in winerror.h.
// https://learn.microsoft.com/windows/win32/debug/system-error-codes
const (
	ERROR_INVALID_FUNCTION                  Errno = 1
	ERROR_FILE_NOT_FOUND                    Errno = 2
	ERROR_PATH_NOT_FOUND                    Errno = 3
	ERROR_TOO_MANY_OPEN_FILES               Errno = 4
	ERROR_ACCESS_DENIED                     Errno = 5
	ERROR_INVALID_HANDLE                    Errno = 6
	ERROR_NOT_ENOUGH_MEMORY                 Errno = 8
	ERROR_INVALID_DATA                      Errno = 13
	ERROR_OUTOFMEMORY                       Errno = 14
	ERROR_INVALID_DRIVE                     Errno = 15
	ERROR_CURRENT_DIRECTORY                 Errno = 16
	ERROR_NOT_SAME_DEVICE                   Errno = 17
	ERROR_NO_MORE_FILES                     Errno = 18
	ERROR_WRITE_PROTECT                     Errno = 19
	ERROR_NOT_READY                         Errno = 21
	ERROR_CRC                               Errno = 23
	ERROR_BAD_LENGTH                        Errno = 24
	ERROR_GEN_FAILURE                       Errno = 31
	ERROR_SHARING_VIOLATION                 Errno = 32
	ERROR_LOCK_VIOLATION                    Errno = 33
	ERROR_HANDLE_EOF                        Errno = 38
	ERROR_NOT_SUPPORTED                     Errno = 50
	ERROR_REM_NOT_LIST                      Errno = 51
	ERROR_BAD_NETPATH                       Errno = 53
	ERROR_NETWORK_BUSY                      Errno = 54
	ERROR_DEV_NOT_EXIST                     Errno = 55
	ERROR_UNEXP_NET_ERR                     Errno = 59
	ERROR_NETNAME_DELETED                   Errno = 64
	ERROR_NETWORK_ACCESS_DENIED             Errno = 65
	ERROR_BAD_NET_NAME                      Errno = 67
	ERROR_FILE_EXISTS                       Errno = 80
	ERROR_ALREADY_ASSIGNED                  Errno = 85
	ERROR_INVALID_PASSWORD                  Errno = 86
	ERROR_INVALID_PARAMETER                 Errno = 87
	ERROR_BROKEN_PIPE                       Errno = 109
	ERROR_DISK_FULL                         Errno = 112
	ERROR_CALL_NOT_IMPLEMENTED              Errno = 120
	ERROR_SEM_TIMEOUT                       Errno = 121
	ERROR_INSUFFICIENT_BUFFER               Errno = 122
	ERROR_INVALID_NAME                      Errno = 123
	ERROR_INVALID_LEVEL                     Errno = 124
	ERROR_DIR_NOT_ROOT                      Errno = 144
	ERROR_DIR_NOT_EMPTY                     Errno = 145
	ERROR_NOT_LOCKED                        Errno = 158
	ERROR_BAD_PATHNAME                      Errno = 161
	ERROR_BUSY                              Errno = 170
	ERROR_ALREADY_EXISTS                    Errno = 183
	ERROR_FILENAME_EXCED_RANGE              Errno = 206
	ERROR_PIPE_BUSY                         Errno = 231
	ERROR_MORE_DATA                         Errno = 234
	ERROR_NO_MORE_ITEMS                     Errno = 259
	ERROR_DIRECTORY                         Errno = 267
	ERROR_DELETE_PENDING                    Errno = 303
	ERROR_NO_SUCH_DEVICE                    Errno = 433
	ERROR_OPERATION_ABORTED                 Errno = 995
	ERROR_IO_PENDING                        Errno = 997
	ERROR_NOACCESS                          Errno = 998
	ERROR_UNRECOGNIZED_VOLUME               Errno = 1005
	ERROR_FILE_INVALID                      Errno = 1006
	ERROR_DEPENDENT_SERVICES_RUNNING        Errno = 1051
	ERROR_INVALID_SERVICE_CONTROL           Errno = 1052
	ERROR_SERVICE_REQUEST_TIMEOUT           Errno = 1053
	ERROR_SERVICE_NO_THREAD                 Errno = 1054
	ERROR_SERVICE_DATABASE_LOCKED           Errno = 1055
	ERROR_SERVICE_ALREADY_RUNNING           Errno = 1056
	ERROR_INVALID_SERVICE_ACCOUNT           Errno = 1057
	ERROR_SERVICE_DISABLED                  Errno = 1058
	ERROR_CIRCULAR_DEPENDENCY               Errno = 1059
	ERROR_SERVICE_DOES_NOT_EXIST            Errno = 1060
	ERROR_SERVICE_CANNOT_ACCEPT_CTRL        Errno = 1061
	ERROR_SERVICE_NOT_ACTIVE                Errno = 1062
	ERROR_FAILED_SERVICE_CONTROLLER_CONNECT Errno = 1063
	ERROR_EXCEPTION_IN_SERVICE              Errno = 1064
	ERROR_SERVICE_SPECIFIC_ERROR            Errno = 1066
	ERROR_PROCESS_ABORTED                   Errno = 1067
	ERROR_SERVICE_DEPENDENCY_FAIL           Errno = 1068
	ERROR_SERVICE_LOGON_FAILED              Errno = 1069
	ERROR_SERVICE_START_HANG                Errno = 1070
	ERROR_SERVICE_MARKED_FOR_DELETE         Errno = 1072
	ERROR_SERVICE_EXISTS                    Errno = 1073
	ERROR_SERVICE_DEPENDENCY_DELETED        Errno = 1075
	ERROR_SERVICE_NEVER_STARTED             Errno = 1077
	ERROR_MEDIA_CHANGED                     Errno = 1110
	ERROR_NO_MEDIA_IN_DRIVE                 Errno = 1112
	ERROR_IO_DEVICE                         Errno = 1117
	ERROR_DEVICE_NOT_CONNECTED              Errno = 1167
	ERROR_NOT_FOUND                         Errno = 1168
	ERROR_NO_NET_OR_BAD_PATH                Errno = 1203
	ERROR_SESSION_CREDENTIAL_CONFLICT       Errno = 1219
	ERROR_CANCELLED                         Errno = 1223
	ERROR_CONNECTION_REFUSED                Errno = 1225
	ERROR_NETWORK_UNREACHABLE               Errno = 1231
	ERROR_HOST_UNREACHABLE                  Errno = 1232
	ERROR_NOT_ALL_ASSIGNED                  Errno = 1300
	ERROR_NO_LOGON_SERVERS                  Errno = 1311
	ERROR_NO_SUCH_LOGON_SESSION             Errno = 1312
	ERROR_NO_SUCH_PRIVILEGE                 Errno = 1313
	ERROR_PRIVILEGE_NOT_HELD                Errno = 1314
	ERROR_LOGON_FAILURE                     Errno = 1326
	ERROR_ACCOUNT_RESTRICTION               Errno = 1327
	ERROR_INVALID_LOGON_HOURS               Errno = 1328
	ERROR_INVALID_WORKSTATION               Errno = 1329
	ERROR_PASSWORD_EXPIRED                  Errno = 1330
	ERROR_ACCOUNT_DISABLED                  Errno = 1331
	ERROR_INTERNAL_ERROR                    Errno = 1359
	ERROR_FILE_CORRUPT                      Errno = 1392
	ERROR_DISK_CORRUPT                      Errno = 1393
	ERROR_NO_SYSTEM_RESOURCES               Errno = 1450
	ERROR_TIMEOUT                           Errno = 1460
	ERROR_SYMLINK_CLASS_DISABLED            Errno = 1463
	RPC_S_SERVER_UNAVAILABLE                Errno = 1722
	EPT_S_NOT_REGISTERED                    Errno = 1753
	ERROR_INVALID_USER_BUFFER               Errno = 1784
	ERROR_UNRECOGNIZED_MEDIA                Errno = 1785
	ERROR_ACCOUNT_EXPIRED                   Errno = 1793
	ERROR_PASSWORD_MUST_CHANGE              Errno = 1907
	ERROR_ACCOUNT_LOCKED_OUT                Errno = 1909
	ERROR_CANT_ACCESS_FILE                  Errno = 1920
	ERROR_CANT_RESOLVE_FILENAME             Errno = 1921
	ERROR_BAD_USERNAME                      Errno = 2202
	ERROR_NOT_CONNECTED                     Errno = 2250
	ERROR_OPEN_FILES                        Errno = 2401
	ERROR_DEVICE_IN_USE                     Errno = 2404
	ERROR_NOT_A_REPARSE_POINT               Errno = 4390
	ERROR_REPARSE_ATTRIBUTE_CONFLICT        Errno = 4391
	ERROR_INVALID_REPARSE_DATA              Errno = 4392
	ERROR_REPARSE_TAG_INVALID               Errno = 4393
	ERROR_REPARSE_TAG_MISMATCH              Errno = 4394
	ERROR_REPARSE_POINT_ENCOUNTERED         Errno = 4395
	FVE_E_LOCKED_VOLUME                     Errno = 0x80310000
)

// errnoTable is sorted by code. The texts are ours: short, and the same on Windows in any language.
var errnoTable = [...]errnoEntry{
	{ERROR_INVALID_FUNCTION, "ERROR_INVALID_FUNCTION", "the device or file system does not know this function"},
	{ERROR_FILE_NOT_FOUND, "ERROR_FILE_NOT_FOUND", "the file was not found"},
	{ERROR_PATH_NOT_FOUND, "ERROR_PATH_NOT_FOUND", "the path was not found"},
	{ERROR_TOO_MANY_OPEN_FILES, "ERROR_TOO_MANY_OPEN_FILES", "too many files are open"},
	{ERROR_ACCESS_DENIED, "ERROR_ACCESS_DENIED", "access is denied"},
	{ERROR_INVALID_HANDLE, "ERROR_INVALID_HANDLE", "the handle is invalid"},
	{ERROR_NOT_ENOUGH_MEMORY, "ERROR_NOT_ENOUGH_MEMORY", "not enough memory"},
	{ERROR_INVALID_DATA, "ERROR_INVALID_DATA", "the data is invalid"},
	{ERROR_OUTOFMEMORY, "ERROR_OUTOFMEMORY", "out of memory"},
	{ERROR_INVALID_DRIVE, "ERROR_INVALID_DRIVE", "there is no such drive"},
	{ERROR_CURRENT_DIRECTORY, "ERROR_CURRENT_DIRECTORY", "the current directory cannot be removed"},
	{ERROR_NOT_SAME_DEVICE, "ERROR_NOT_SAME_DEVICE", "the two paths are on different volumes"},
	{ERROR_NO_MORE_FILES, "ERROR_NO_MORE_FILES", "there are no more files"},
	{ERROR_WRITE_PROTECT, "ERROR_WRITE_PROTECT", "the medium is write-protected"},
	{ERROR_NOT_READY, "ERROR_NOT_READY", "the device is not ready"},
	{ERROR_CRC, "ERROR_CRC", "a checksum of the medium is wrong"},
	{ERROR_BAD_LENGTH, "ERROR_BAD_LENGTH", "the length is wrong for this command"},
	{ERROR_GEN_FAILURE, "ERROR_GEN_FAILURE", "the device does not work"},
	{ERROR_SHARING_VIOLATION, "ERROR_SHARING_VIOLATION", "another process uses the file"},
	{ERROR_LOCK_VIOLATION, "ERROR_LOCK_VIOLATION", "another process has locked a part of the file"},
	{ERROR_HANDLE_EOF, "ERROR_HANDLE_EOF", "the end of the file was reached"},
	{ERROR_NOT_SUPPORTED, "ERROR_NOT_SUPPORTED", "the request is not supported"},
	{ERROR_REM_NOT_LIST, "ERROR_REM_NOT_LIST", "the remote computer does not answer"},
	{ERROR_BAD_NETPATH, "ERROR_BAD_NETPATH", "the network path was not found"},
	{ERROR_NETWORK_BUSY, "ERROR_NETWORK_BUSY", "the network is busy"},
	{ERROR_DEV_NOT_EXIST, "ERROR_DEV_NOT_EXIST", "the resource or device is no longer there"},
	{ERROR_UNEXP_NET_ERR, "ERROR_UNEXP_NET_ERR", "an unexpected network error occurred"},
	{ERROR_NETNAME_DELETED, "ERROR_NETNAME_DELETED", "the network name is no longer there"},
	{ERROR_NETWORK_ACCESS_DENIED, "ERROR_NETWORK_ACCESS_DENIED", "network access is denied"},
	{ERROR_BAD_NET_NAME, "ERROR_BAD_NET_NAME", "the share was not found on the server"},
	{ERROR_FILE_EXISTS, "ERROR_FILE_EXISTS", "the file exists"},
	{ERROR_ALREADY_ASSIGNED, "ERROR_ALREADY_ASSIGNED", "the local name is already in use"},
	{ERROR_INVALID_PASSWORD, "ERROR_INVALID_PASSWORD", "the password is wrong"},
	{ERROR_INVALID_PARAMETER, "ERROR_INVALID_PARAMETER", "a parameter is wrong"},
	{ERROR_BROKEN_PIPE, "ERROR_BROKEN_PIPE", "the pipe has ended"},
	{ERROR_DISK_FULL, "ERROR_DISK_FULL", "the disk is full"},
	{ERROR_CALL_NOT_IMPLEMENTED, "ERROR_CALL_NOT_IMPLEMENTED", "this system does not implement the function"},
	{ERROR_SEM_TIMEOUT, "ERROR_SEM_TIMEOUT", "the wait timed out"},
	{ERROR_INSUFFICIENT_BUFFER, "ERROR_INSUFFICIENT_BUFFER", "the buffer is too small"},
	{ERROR_INVALID_NAME, "ERROR_INVALID_NAME", "the syntax of the name is wrong"},
	{ERROR_INVALID_LEVEL, "ERROR_INVALID_LEVEL", "the file system does not know this class of information"},
	{ERROR_DIR_NOT_ROOT, "ERROR_DIR_NOT_ROOT", "the directory is not the root of a volume"},
	{ERROR_DIR_NOT_EMPTY, "ERROR_DIR_NOT_EMPTY", "the directory is not empty"},
	{ERROR_NOT_LOCKED, "ERROR_NOT_LOCKED", "the volume is not locked"},
	{ERROR_BAD_PATHNAME, "ERROR_BAD_PATHNAME", "the path is invalid"},
	{ERROR_BUSY, "ERROR_BUSY", "the resource is in use"},
	{ERROR_ALREADY_EXISTS, "ERROR_ALREADY_EXISTS", "the file exists already"},
	{ERROR_FILENAME_EXCED_RANGE, "ERROR_FILENAME_EXCED_RANGE", "the name is too long"},
	{ERROR_PIPE_BUSY, "ERROR_PIPE_BUSY", "all instances of the pipe are busy"},
	{ERROR_MORE_DATA, "ERROR_MORE_DATA", "there is more data"},
	{ERROR_NO_MORE_ITEMS, "ERROR_NO_MORE_ITEMS", "there are no more items"},
	{ERROR_DIRECTORY, "ERROR_DIRECTORY", "the name does not belong to a directory"},
	{ERROR_DELETE_PENDING, "ERROR_DELETE_PENDING", "the file is being deleted"},
	{ERROR_NO_SUCH_DEVICE, "ERROR_NO_SUCH_DEVICE", "there is no such device"},
	{ERROR_OPERATION_ABORTED, "ERROR_OPERATION_ABORTED", "the operation was aborted"},
	{ERROR_IO_PENDING, "ERROR_IO_PENDING", "the operation is still running"},
	{ERROR_NOACCESS, "ERROR_NOACCESS", "a pointer is invalid"},
	{ERROR_UNRECOGNIZED_VOLUME, "ERROR_UNRECOGNIZED_VOLUME", "the volume holds no file system that Windows knows"},
	{ERROR_FILE_INVALID, "ERROR_FILE_INVALID", "the volume of the open file was changed"},
	{ERROR_DEPENDENT_SERVICES_RUNNING, "ERROR_DEPENDENT_SERVICES_RUNNING", "services that depend on it are running"},
	{ERROR_INVALID_SERVICE_CONTROL, "ERROR_INVALID_SERVICE_CONTROL", "the service does not accept this control"},
	{ERROR_SERVICE_REQUEST_TIMEOUT, "ERROR_SERVICE_REQUEST_TIMEOUT", "the service did not answer in time"},
	{ERROR_SERVICE_NO_THREAD, "ERROR_SERVICE_NO_THREAD", "the service could not make a thread"},
	{ERROR_SERVICE_DATABASE_LOCKED, "ERROR_SERVICE_DATABASE_LOCKED", "the service database is locked"},
	{ERROR_SERVICE_ALREADY_RUNNING, "ERROR_SERVICE_ALREADY_RUNNING", "the service is already running"},
	{ERROR_INVALID_SERVICE_ACCOUNT, "ERROR_INVALID_SERVICE_ACCOUNT",
		"the account of the service or its password is wrong"},
	{ERROR_SERVICE_DISABLED, "ERROR_SERVICE_DISABLED", "the service is disabled"},
	{ERROR_CIRCULAR_DEPENDENCY, "ERROR_CIRCULAR_DEPENDENCY", "the services depend on each other in a circle"},
	{ERROR_SERVICE_DOES_NOT_EXIST, "ERROR_SERVICE_DOES_NOT_EXIST", "the service does not exist"},
	{ERROR_SERVICE_CANNOT_ACCEPT_CTRL, "ERROR_SERVICE_CANNOT_ACCEPT_CTRL", "the service cannot accept controls now"},
	{ERROR_SERVICE_NOT_ACTIVE, "ERROR_SERVICE_NOT_ACTIVE", "the service has not been started"},
	{ERROR_FAILED_SERVICE_CONTROLLER_CONNECT, "ERROR_FAILED_SERVICE_CONTROLLER_CONNECT",
		"the process was not started by the service control manager"},
	{ERROR_EXCEPTION_IN_SERVICE, "ERROR_EXCEPTION_IN_SERVICE", "the service raised an exception"},
	{ERROR_SERVICE_SPECIFIC_ERROR, "ERROR_SERVICE_SPECIFIC_ERROR", "the service failed with an error code of its own"},
	{ERROR_PROCESS_ABORTED, "ERROR_PROCESS_ABORTED", "the process ended unexpectedly"},
	{ERROR_SERVICE_DEPENDENCY_FAIL, "ERROR_SERVICE_DEPENDENCY_FAIL", "a service that it depends on could not be started"},
	{ERROR_SERVICE_LOGON_FAILED, "ERROR_SERVICE_LOGON_FAILED", "the service could not log on"},
	{ERROR_SERVICE_START_HANG, "ERROR_SERVICE_START_HANG", "the service hung when it started"},
	{ERROR_SERVICE_MARKED_FOR_DELETE, "ERROR_SERVICE_MARKED_FOR_DELETE", "the service is marked for deletion"},
	{ERROR_SERVICE_EXISTS, "ERROR_SERVICE_EXISTS", "the service exists already"},
	{ERROR_SERVICE_DEPENDENCY_DELETED, "ERROR_SERVICE_DEPENDENCY_DELETED", "a service that it depends on does not exist"},
	{ERROR_SERVICE_NEVER_STARTED, "ERROR_SERVICE_NEVER_STARTED",
		"the service was not started since Windows started"},
	{ERROR_MEDIA_CHANGED, "ERROR_MEDIA_CHANGED", "the medium was changed"},
	{ERROR_NO_MEDIA_IN_DRIVE, "ERROR_NO_MEDIA_IN_DRIVE", "there is no medium in the drive"},
	{ERROR_IO_DEVICE, "ERROR_IO_DEVICE", "the device reported an input or output error"},
	{ERROR_DEVICE_NOT_CONNECTED, "ERROR_DEVICE_NOT_CONNECTED", "the device is not connected"},
	{ERROR_NOT_FOUND, "ERROR_NOT_FOUND", "the element was not found"},
	{ERROR_NO_NET_OR_BAD_PATH, "ERROR_NO_NET_OR_BAD_PATH", "no network provider accepted the path"},
	{ERROR_SESSION_CREDENTIAL_CONFLICT, "ERROR_SESSION_CREDENTIAL_CONFLICT",
		"the server is already connected with other credentials"},
	{ERROR_CANCELLED, "ERROR_CANCELLED", "the operation was cancelled"},
	{ERROR_CONNECTION_REFUSED, "ERROR_CONNECTION_REFUSED", "the remote computer refused the connection"},
	{ERROR_NETWORK_UNREACHABLE, "ERROR_NETWORK_UNREACHABLE", "the network cannot be reached"},
	{ERROR_HOST_UNREACHABLE, "ERROR_HOST_UNREACHABLE", "the host cannot be reached"},
	{ERROR_NOT_ALL_ASSIGNED, "ERROR_NOT_ALL_ASSIGNED", "the process does not have the privilege"},
	{ERROR_NO_LOGON_SERVERS, "ERROR_NO_LOGON_SERVERS", "no logon server is available"},
	{ERROR_NO_SUCH_LOGON_SESSION, "ERROR_NO_SUCH_LOGON_SESSION", "there is no such logon session"},
	{ERROR_NO_SUCH_PRIVILEGE, "ERROR_NO_SUCH_PRIVILEGE", "Windows has no privilege of that name"},
	{ERROR_PRIVILEGE_NOT_HELD, "ERROR_PRIVILEGE_NOT_HELD", "the process lacks a privilege"},
	{ERROR_LOGON_FAILURE, "ERROR_LOGON_FAILURE", "the user name or password is wrong"},
	{ERROR_ACCOUNT_RESTRICTION, "ERROR_ACCOUNT_RESTRICTION", "a restriction of the account prevents the logon"},
	{ERROR_INVALID_LOGON_HOURS, "ERROR_INVALID_LOGON_HOURS", "the account may not log on at this time"},
	{ERROR_INVALID_WORKSTATION, "ERROR_INVALID_WORKSTATION", "the account may not log on to this computer"},
	{ERROR_PASSWORD_EXPIRED, "ERROR_PASSWORD_EXPIRED", "the password has expired"},
	{ERROR_ACCOUNT_DISABLED, "ERROR_ACCOUNT_DISABLED", "the account is disabled"},
	{ERROR_INTERNAL_ERROR, "ERROR_INTERNAL_ERROR", "an internal error occurred"},
	{ERROR_FILE_CORRUPT, "ERROR_FILE_CORRUPT", "the file or directory is damaged"},
	{ERROR_DISK_CORRUPT, "ERROR_DISK_CORRUPT", "the disk structure is damaged"},
	{ERROR_NO_SYSTEM_RESOURCES, "ERROR_NO_SYSTEM_RESOURCES", "the system lacks resources"},
	{ERROR_TIMEOUT, "ERROR_TIMEOUT", "the time allowed for the operation has passed"},
	{ERROR_SYMLINK_CLASS_DISABLED, "ERROR_SYMLINK_CLASS_DISABLED", "links of this kind are not followed"},
	{RPC_S_SERVER_UNAVAILABLE, "RPC_S_SERVER_UNAVAILABLE", "the RPC server is unavailable"},
	{EPT_S_NOT_REGISTERED, "EPT_S_NOT_REGISTERED", "the RPC end point is not registered"},
	{ERROR_INVALID_USER_BUFFER, "ERROR_INVALID_USER_BUFFER", "the buffer does not suit the operation"},
	{ERROR_UNRECOGNIZED_MEDIA, "ERROR_UNRECOGNIZED_MEDIA", "the medium may not be formatted"},
	{ERROR_ACCOUNT_EXPIRED, "ERROR_ACCOUNT_EXPIRED", "the account has expired"},
	{ERROR_PASSWORD_MUST_CHANGE, "ERROR_PASSWORD_MUST_CHANGE", "the password must be changed first"},
	{ERROR_ACCOUNT_LOCKED_OUT, "ERROR_ACCOUNT_LOCKED_OUT", "the account is locked out"},
	{ERROR_CANT_ACCESS_FILE, "ERROR_CANT_ACCESS_FILE", "the system cannot access the file"},
	{ERROR_CANT_RESOLVE_FILENAME, "ERROR_CANT_RESOLVE_FILENAME", "the path leads in a circle of links"},
	{ERROR_BAD_USERNAME, "ERROR_BAD_USERNAME", "the user name is invalid"},
	{ERROR_NOT_CONNECTED, "ERROR_NOT_CONNECTED", "the network connection does not exist"},
	{ERROR_OPEN_FILES, "ERROR_OPEN_FILES", "the connection has open files"},
	{ERROR_DEVICE_IN_USE, "ERROR_DEVICE_IN_USE", "the connection is in use"},
	{ERROR_NOT_A_REPARSE_POINT, "ERROR_NOT_A_REPARSE_POINT", "the file or directory is not a reparse point"},
	{ERROR_REPARSE_ATTRIBUTE_CONFLICT, "ERROR_REPARSE_ATTRIBUTE_CONFLICT", "the reparse point has another attribute"},
	{ERROR_INVALID_REPARSE_DATA, "ERROR_INVALID_REPARSE_DATA", "the data of the reparse point is invalid"},
	{ERROR_REPARSE_TAG_INVALID, "ERROR_REPARSE_TAG_INVALID", "the reparse tag is invalid"},
	{ERROR_REPARSE_TAG_MISMATCH, "ERROR_REPARSE_TAG_MISMATCH", "the reparse point has another tag"},
	{ERROR_REPARSE_POINT_ENCOUNTERED, "ERROR_REPARSE_POINT_ENCOUNTERED", "a reparse point is on the way"},
	{FVE_E_LOCKED_VOLUME, "FVE_E_LOCKED_VOLUME", "BitLocker has locked the volume"},
	{ISDSC_OPERATION_NOT_ALL_SUCCESS, "ISDSC_OPERATION_NOT_ALL_SUCCESS", "a part of the iSCSI operation failed"},
	{ISDSC_OPERATION_REQUIRES_REBOOT, "ISDSC_OPERATION_REQUIRES_REBOOT",
		"the iSCSI operation takes effect after a reboot"},
	{ISDSC_SHORT_CHAP_SECRET, "ISDSC_SHORT_CHAP_SECRET", "the CHAP secret is short"},
	{ISDSC_LOGIN_FAILED, "ISDSC_LOGIN_FAILED", "the login to the iSCSI target failed"},
	{ISDSC_CONNECTION_FAILED, "ISDSC_CONNECTION_FAILED", "no connection to the iSCSI portal could be made"},
	{ISDSC_AUTHENTICATION_FAILURE, "ISDSC_AUTHENTICATION_FAILURE", "the CHAP authentication failed"},
	{ISDSC_AUTHORIZATION_FAILURE, "ISDSC_AUTHORIZATION_FAILURE", "the iSCSI target does not admit this initiator"},
	{ISDSC_NOT_FOUND, "ISDSC_NOT_FOUND", "the iSCSI object was not found"},
	{ISDSC_TARGET_ERROR, "ISDSC_TARGET_ERROR", "the iSCSI target reported an error"},
	{ISDSC_SERVICE_UNAVAILABLE, "ISDSC_SERVICE_UNAVAILABLE", "the iSCSI target is not available now"},
	{ISDSC_CONNECTION_ALREADY_EXISTS, "ISDSC_CONNECTION_ALREADY_EXISTS", "the iSCSI connection exists already"},
	{ISDSC_SESSION_ALREADY_EXISTS, "ISDSC_SESSION_ALREADY_EXISTS", "the iSCSI session exists already"},
	{ISDSC_INVALID_TEXT_KEY, "ISDSC_INVALID_TEXT_KEY", "an iSCSI text key is invalid"},
	{ISDSC_INVALID_SENDTARGETS_TEXT, "ISDSC_INVALID_SENDTARGETS_TEXT", "the iSCSI portal's list of targets is invalid"},
	{ISDSC_INVALID_SESSION_ID, "ISDSC_INVALID_SESSION_ID", "there is no iSCSI session with this id"},
	{ISDSC_SESSION_BUSY, "ISDSC_SESSION_BUSY", "the iSCSI session is busy"},
	{ISDSC_LOGON_FAILED, "ISDSC_LOGON_FAILED", "the iSCSI logon failed"},
	{ISDSC_TRANSPORT_ERROR, "ISDSC_TRANSPORT_ERROR", "the connection to the iSCSI target broke"},
	{ISDSC_TARGET_AUTHINFO_UNAVAILABLE, "ISDSC_TARGET_AUTHINFO_UNAVAILABLE",
		"there is no authentication information for the iSCSI target"},
	{ISDSC_TARGET_NOT_FOUND, "ISDSC_TARGET_NOT_FOUND", "the iSCSI target was not found"},
	{ISDSC_LOGIN_USER_INFO_BAD, "ISDSC_LOGIN_USER_INFO_BAD", "the user information for the iSCSI login is wrong"},
	{ISDSC_TARGET_PORTAL_ALREADY_EXISTS, "ISDSC_TARGET_PORTAL_ALREADY_EXISTS", "the iSCSI portal is registered already"},
	{ISDSC_TARGET_ADDRESS_ALREADY_EXISTS, "ISDSC_TARGET_ADDRESS_ALREADY_EXISTS",
		"the iSCSI target's address exists already"},
	{ISDSC_NO_AUTH_INFO_AVAILABLE, "ISDSC_NO_AUTH_INFO_AVAILABLE", "no authentication information is available"},
	{ISDSC_REQUEST_NOT_SUPPORTED, "ISDSC_REQUEST_NOT_SUPPORTED", "the iSCSI request is not supported"},
	{ISDSC_SERVICE_DID_NOT_RESPOND, "ISDSC_SERVICE_DID_NOT_RESPOND", "the iSCSI initiator service did not answer"},
	{ISDSC_NO_PORTAL_SPECIFIED, "ISDSC_NO_PORTAL_SPECIFIED", "no iSCSI portal was given"},
	{ISDSC_SERVICE_NOT_RUNNING, "ISDSC_SERVICE_NOT_RUNNING", "the iSCSI initiator service is not running"},
	{ISDSC_TARGET_ALREADY_LOGGED_IN, "ISDSC_TARGET_ALREADY_LOGGED_IN", "the iSCSI target is logged in already"},
	{ISDSC_DEVICE_BUSY_ON_SESSION, "ISDSC_DEVICE_BUSY_ON_SESSION", "a device of the iSCSI session is in use"},
	{ISDSC_PORTAL_NOT_FOUND, "ISDSC_PORTAL_NOT_FOUND", "the iSCSI portal was not found"},
	{ISDSC_INITIATOR_NOT_FOUND, "ISDSC_INITIATOR_NOT_FOUND", "the iSCSI initiator was not found"},
	{ISDSC_INVALID_CHAP_SECRET, "ISDSC_INVALID_CHAP_SECRET", "the CHAP secret is invalid"},
	{ISDSC_INVALID_TARGET_CHAP_SECRET, "ISDSC_INVALID_TARGET_CHAP_SECRET", "the target's CHAP secret is invalid"},
	{ISDSC_INVALID_INITIATOR_CHAP_SECRET, "ISDSC_INVALID_INITIATOR_CHAP_SECRET", "the initiator's CHAP secret is invalid"},
	{ISDSC_INVALID_CHAP_USER_NAME, "ISDSC_INVALID_CHAP_USER_NAME", "the CHAP user name is invalid"},
	{ISDSC_INVALID_LOGON_AUTH_TYPE, "ISDSC_INVALID_LOGON_AUTH_TYPE", "the authentication type is invalid"},
	{ISDSC_INVALID_ISCSI_NAME, "ISDSC_INVALID_ISCSI_NAME", "the iSCSI name is invalid"},
	{ISDSC_BUFFER_TOO_SMALL, "ISDSC_BUFFER_TOO_SMALL", "the buffer is too small for the iSCSI answer"},
	{ISDSC_INVALID_PARAMETER, "ISDSC_INVALID_PARAMETER", "a parameter of the iSCSI call is wrong"},
	{ISDSC_DEVICE_NOT_FOUND, "ISDSC_DEVICE_NOT_FOUND", "the iSCSI device was not found"},
	{ISDSC_DNS_NAME_UNRESOLVED, "ISDSC_DNS_NAME_UNRESOLVED", "the DNS name of the iSCSI portal was not resolved"},
	{ISDSC_NO_CONNECTION_AVAILABLE, "ISDSC_NO_CONNECTION_AVAILABLE", "the iSCSI session has no connection"},
	{ISDSC_RESTRICTED_BY_GROUP_POLICY, "ISDSC_RESTRICTED_BY_GROUP_POLICY", "a group policy does not allow the iSCSI call"},
}
