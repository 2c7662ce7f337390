// SPDX-License-Identifier: Apache-2.0

package win32

// Status codes of the iSCSI initiator service, under their names in iscsierr.h. Those that begin with 0xA are warnings:
// the call did what was asked. The comments become the errors' texts.
// https://learn.microsoft.com/windows-hardware/drivers/storage/iscsi-status-qualifiers
const (
	ISDSC_OPERATION_NOT_ALL_SUCCESS     Errno = 0xAFFF002E // a part of the iSCSI operation failed
	ISDSC_OPERATION_REQUIRES_REBOOT     Errno = 0xAFFF003B // the iSCSI operation takes effect after a reboot
	ISDSC_SHORT_CHAP_SECRET             Errno = 0xAFFF0048 // the CHAP secret is short
	ISDSC_LOGIN_FAILED                  Errno = 0xEFFF0002 // the login to the iSCSI target failed
	ISDSC_CONNECTION_FAILED             Errno = 0xEFFF0003 // no connection to the iSCSI portal could be made
	ISDSC_TARGET_MOVED_TEMPORARILY      Errno = 0xEFFF0006 // the iSCSI target has moved for a time
	ISDSC_TARGET_MOVED_PERMANENTLY      Errno = 0xEFFF0007 // the iSCSI target has moved for good
	ISDSC_AUTHENTICATION_FAILURE        Errno = 0xEFFF0009 // the CHAP authentication failed
	ISDSC_AUTHORIZATION_FAILURE         Errno = 0xEFFF000A // the iSCSI target does not admit this initiator
	ISDSC_NOT_FOUND                     Errno = 0xEFFF000B // the iSCSI object was not found
	ISDSC_TARGET_REMOVED                Errno = 0xEFFF000C // the iSCSI target was removed
	ISDSC_TARGET_ERROR                  Errno = 0xEFFF0012 // the iSCSI target reported an error
	ISDSC_SERVICE_UNAVAILABLE           Errno = 0xEFFF0013 // the iSCSI target is not available now
	ISDSC_OUT_OF_RESOURCES              Errno = 0xEFFF0014 // the iSCSI target lacks resources
	ISDSC_CONNECTION_ALREADY_EXISTS     Errno = 0xEFFF0015 // the iSCSI connection exists already
	ISDSC_SESSION_ALREADY_EXISTS        Errno = 0xEFFF0016 // the iSCSI session exists already
	ISDSC_INVALID_TEXT_KEY              Errno = 0xEFFF001A // an iSCSI text key is invalid
	ISDSC_INVALID_SENDTARGETS_TEXT      Errno = 0xEFFF001B // the iSCSI portal's list of targets is invalid
	ISDSC_INVALID_SESSION_ID            Errno = 0xEFFF001C // there is no iSCSI session with this id
	ISDSC_TOO_MANY_SESSIONS             Errno = 0xEFFF001E // there are too many iSCSI sessions
	ISDSC_SESSION_BUSY                  Errno = 0xEFFF001F // the iSCSI session is busy
	ISDSC_LOGON_FAILED                  Errno = 0xEFFF0022 // the iSCSI logon failed
	ISDSC_TRANSPORT_ERROR               Errno = 0xEFFF0024 // the connection to the iSCSI target broke
	ISDSC_TARGET_AUTHINFO_UNAVAILABLE   Errno = 0xEFFF0028 // there is no authentication information for the iSCSI target
	ISDSC_TARGET_NOT_FOUND              Errno = 0xEFFF0029 // the iSCSI target was not found
	ISDSC_LOGIN_USER_INFO_BAD           Errno = 0xEFFF002A // the user information for the iSCSI login is wrong
	ISDSC_TARGET_PORTAL_ALREADY_EXISTS  Errno = 0xEFFF0032 // the iSCSI portal is registered already
	ISDSC_TARGET_ADDRESS_ALREADY_EXISTS Errno = 0xEFFF0033 // the iSCSI target's address exists already
	ISDSC_NO_AUTH_INFO_AVAILABLE        Errno = 0xEFFF0034 // no authentication information is available
	ISDSC_REQUEST_NOT_SUPPORTED         Errno = 0xEFFF0037 // the iSCSI request is not supported
	ISDSC_SERVICE_DID_NOT_RESPOND       Errno = 0xEFFF0039 // the iSCSI initiator service did not answer
	ISDSC_NO_PORTAL_SPECIFIED           Errno = 0xEFFF003C // no iSCSI portal was given
	ISDSC_SERVICE_NOT_RUNNING           Errno = 0xEFFF003E // the iSCSI initiator service is not running
	ISDSC_TARGET_ALREADY_LOGGED_IN      Errno = 0xEFFF003F // the iSCSI target is logged in already
	ISDSC_DEVICE_BUSY_ON_SESSION        Errno = 0xEFFF0040 // a device of the iSCSI session is in use
	ISDSC_PORTAL_NOT_FOUND              Errno = 0xEFFF0043 // the iSCSI portal was not found
	ISDSC_INITIATOR_NOT_FOUND           Errno = 0xEFFF0044 // the iSCSI initiator was not found
	ISDSC_INVALID_CHAP_SECRET           Errno = 0xEFFF004A // the CHAP secret is invalid
	ISDSC_INVALID_TARGET_CHAP_SECRET    Errno = 0xEFFF004B // the target's CHAP secret is invalid
	ISDSC_INVALID_INITIATOR_CHAP_SECRET Errno = 0xEFFF004C // the initiator's CHAP secret is invalid
	ISDSC_INVALID_CHAP_USER_NAME        Errno = 0xEFFF004D // the CHAP user name is invalid
	ISDSC_INVALID_LOGON_AUTH_TYPE       Errno = 0xEFFF004E // the authentication type is invalid
	ISDSC_INVALID_ISCSI_NAME            Errno = 0xEFFF0051 // the iSCSI name is invalid
	ISDSC_BUFFER_TOO_SMALL              Errno = 0xEFFF0054 // the buffer is too small for the iSCSI answer
	ISDSC_INVALID_PARAMETER             Errno = 0xEFFF0056 // a parameter of the iSCSI call is wrong
	ISDSC_DEVICE_NOT_FOUND              Errno = 0xEFFF005D // the iSCSI device was not found
	ISDSC_DNS_NAME_UNRESOLVED           Errno = 0xEFFF005F // the DNS name of the iSCSI portal was not resolved
	ISDSC_NO_CONNECTION_AVAILABLE       Errno = 0xEFFF0060 // the iSCSI session has no connection
	ISDSC_RESTRICTED_BY_GROUP_POLICY    Errno = 0xEFFF0065 // a group policy does not allow the iSCSI call
)

// ISCSIStatus returns the code for a status of iscsidsc.dll; 0 is success. It unpacks Win32 codes from HRESULTs.
func ISCSIStatus(status uint32) Errno {
	const facilityWin32 = 0x8007 // HRESULT_FROM_WIN32
	if status>>16 == facilityWin32 {
		return Errno(status & 0xFFFF)
	}
	return Errno(status)
}

// IsISCSIWarning reports whether the code is a warning: the iSCSI operation was done.
func (e Errno) IsISCSIWarning() bool { return e>>16 == 0xAFFF }
