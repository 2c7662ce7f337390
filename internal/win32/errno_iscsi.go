// SPDX-License-Identifier: Apache-2.0

package win32

// Status codes of the iSCSI initiator service, under their names in iscsierr.h. Those that begin with 0xA are warnings:
// the call did what was asked.
// https://learn.microsoft.com/windows-hardware/drivers/storage/iscsi-status-qualifiers
const (
	ISDSC_OPERATION_NOT_ALL_SUCCESS     Errno = 0xAFFF002E
	ISDSC_OPERATION_REQUIRES_REBOOT     Errno = 0xAFFF003B
	ISDSC_SHORT_CHAP_SECRET             Errno = 0xAFFF0048
	ISDSC_LOGIN_FAILED                  Errno = 0xEFFF0002
	ISDSC_CONNECTION_FAILED             Errno = 0xEFFF0003
	ISDSC_AUTHENTICATION_FAILURE        Errno = 0xEFFF0009
	ISDSC_AUTHORIZATION_FAILURE         Errno = 0xEFFF000A
	ISDSC_NOT_FOUND                     Errno = 0xEFFF000B
	ISDSC_TARGET_ERROR                  Errno = 0xEFFF0012
	ISDSC_SERVICE_UNAVAILABLE           Errno = 0xEFFF0013
	ISDSC_CONNECTION_ALREADY_EXISTS     Errno = 0xEFFF0015
	ISDSC_SESSION_ALREADY_EXISTS        Errno = 0xEFFF0016
	ISDSC_INVALID_TEXT_KEY              Errno = 0xEFFF001A
	ISDSC_INVALID_SENDTARGETS_TEXT      Errno = 0xEFFF001B
	ISDSC_INVALID_SESSION_ID            Errno = 0xEFFF001C
	ISDSC_SESSION_BUSY                  Errno = 0xEFFF001F
	ISDSC_LOGON_FAILED                  Errno = 0xEFFF0022
	ISDSC_TRANSPORT_ERROR               Errno = 0xEFFF0024
	ISDSC_TARGET_AUTHINFO_UNAVAILABLE   Errno = 0xEFFF0028
	ISDSC_TARGET_NOT_FOUND              Errno = 0xEFFF0029
	ISDSC_LOGIN_USER_INFO_BAD           Errno = 0xEFFF002A
	ISDSC_TARGET_PORTAL_ALREADY_EXISTS  Errno = 0xEFFF0032
	ISDSC_TARGET_ADDRESS_ALREADY_EXISTS Errno = 0xEFFF0033
	ISDSC_NO_AUTH_INFO_AVAILABLE        Errno = 0xEFFF0034
	ISDSC_REQUEST_NOT_SUPPORTED         Errno = 0xEFFF0037
	ISDSC_SERVICE_DID_NOT_RESPOND       Errno = 0xEFFF0039
	ISDSC_NO_PORTAL_SPECIFIED           Errno = 0xEFFF003C
	ISDSC_SERVICE_NOT_RUNNING           Errno = 0xEFFF003E
	ISDSC_TARGET_ALREADY_LOGGED_IN      Errno = 0xEFFF003F
	ISDSC_DEVICE_BUSY_ON_SESSION        Errno = 0xEFFF0040
	ISDSC_PORTAL_NOT_FOUND              Errno = 0xEFFF0043
	ISDSC_INITIATOR_NOT_FOUND           Errno = 0xEFFF0044
	ISDSC_INVALID_CHAP_SECRET           Errno = 0xEFFF004A
	ISDSC_INVALID_TARGET_CHAP_SECRET    Errno = 0xEFFF004B
	ISDSC_INVALID_INITIATOR_CHAP_SECRET Errno = 0xEFFF004C
	ISDSC_INVALID_CHAP_USER_NAME        Errno = 0xEFFF004D
	ISDSC_INVALID_LOGON_AUTH_TYPE       Errno = 0xEFFF004E
	ISDSC_INVALID_ISCSI_NAME            Errno = 0xEFFF0051
	ISDSC_BUFFER_TOO_SMALL              Errno = 0xEFFF0054
	ISDSC_INVALID_PARAMETER             Errno = 0xEFFF0056
	ISDSC_DEVICE_NOT_FOUND              Errno = 0xEFFF005D
	ISDSC_DNS_NAME_UNRESOLVED           Errno = 0xEFFF005F
	ISDSC_NO_CONNECTION_AVAILABLE       Errno = 0xEFFF0060
	ISDSC_RESTRICTED_BY_GROUP_POLICY    Errno = 0xEFFF0065
)

// ISCSIStatus returns the code for the status of a function of iscsidsc.dll; 0 is success. It unpacks Win32 codes that
// arrive as an HRESULT.
func ISCSIStatus(status uint32) Errno {
	const facilityWin32 = 0x8007 // HRESULT_FROM_WIN32
	if status>>16 == facilityWin32 {
		return Errno(status & 0xFFFF)
	}
	return Errno(status)
}

// IsISCSIWarning reports whether the code is a warning: the iSCSI operation was done.
func (e Errno) IsISCSIWarning() bool { return e>>16 == 0xAFFF }
