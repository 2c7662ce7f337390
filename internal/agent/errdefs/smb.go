// SPDX-License-Identifier: Apache-2.0

package errdefs

import (
	"errors"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// SMBCause is where the cause of a failed SMB call lies.
type SMBCause int

// The causes. The zero value is any other one.
const (
	SMBOther         SMBCause = iota
	SMBServerSilent           // the file server does not answer now
	SMBDomainSilent           // no domain controller answers, or it does not know this node
	SMBLogonRefused           // the user name, the password, or a rule for the account
	SMBShareMissing           // the server has no such share
	SMBShareDenied            // the account may not use the share
	SMBSessionExists          // the server is connected with other credentials
)

type smbCode struct {
	class Class
	cause SMBCause
	text  string // what to do, where the code's own text does not say it
}

// smbCodeOf knows the codes of the SMB client, which asks the network, the file server and the domain. The sources are
// the pages "WNetAddConnection2W", "System Error Codes" and "Network Management Error Codes".
func smbCodeOf(code win32.Errno) (of smbCode, is bool) {
	switch code {
	case win32.ERROR_REM_NOT_LIST, win32.ERROR_BAD_NETPATH, win32.ERROR_NETWORK_BUSY, win32.ERROR_BAD_NET_RESP,
		win32.ERROR_UNEXP_NET_ERR, win32.ERROR_NETNAME_DELETED, win32.ERROR_VC_DISCONNECTED, win32.ERROR_NO_NET_OR_BAD_PATH,
		win32.ERROR_NO_NETWORK, win32.ERROR_CONNECTION_REFUSED, win32.ERROR_NETWORK_UNREACHABLE,
		win32.ERROR_HOST_UNREACHABLE, win32.ERROR_CONNECTION_ABORTED, win32.ERROR_HOST_DOWN:
		return smbCode{Unavailable, SMBServerSilent, ""}, true
	case win32.ERROR_SEM_TIMEOUT:
		return smbCode{DeadlineExceeded, SMBServerSilent, ""}, true
	case win32.ERROR_DOWNGRADE_DETECTED, win32.ERROR_NO_LOGON_SERVERS, win32.ERROR_NO_SUCH_DOMAIN,
		win32.ERROR_DOMAIN_CONTROLLER_NOT_FOUND, win32.ERROR_NETLOGON_NOT_STARTED:
		return smbCode{Unavailable, SMBDomainSilent, ""}, true
	case win32.ERROR_NO_TRUST_SAM_ACCOUNT, win32.ERROR_NO_TRUST_LSA_SECRET, win32.ERROR_TRUSTED_RELATIONSHIP_FAILURE:
		return smbCode{FailedPrecondition, SMBDomainSilent, "join it to the domain again"}, true
	case win32.ERROR_TRUSTED_DOMAIN_FAILURE, win32.ERROR_TRUST_FAILURE:
		return smbCode{FailedPrecondition, SMBDomainSilent, "repair the trust between the domains"}, true

	case win32.ERROR_INVALID_PASSWORD, win32.ERROR_LOGIN_WKSTA_RESTRICTION, win32.ERROR_LOGON_FAILURE,
		win32.ERROR_ACCOUNT_RESTRICTION, win32.ERROR_INVALID_LOGON_HOURS, win32.ERROR_INVALID_WORKSTATION,
		win32.ERROR_PASSWORD_EXPIRED, win32.ERROR_ACCOUNT_DISABLED, win32.ERROR_LOGON_TYPE_NOT_GRANTED,
		win32.ERROR_ACCOUNT_EXPIRED, win32.ERROR_PASSWORD_MUST_CHANGE, win32.ERROR_ACCOUNT_LOCKED_OUT,
		win32.ERROR_BAD_USERNAME, win32.ERROR_NO_SUCH_USER, win32.ERROR_NOT_AUTHENTICATED, win32.ERROR_NOT_LOGGED_ON,
		win32.NERR_PasswordExpired:
		return smbCode{Unauthenticated, SMBLogonRefused, ""}, true
	case win32.ERROR_NO_SUCH_LOGON_SESSION:
		return smbCode{Unauthenticated, SMBLogonRefused,
			"Windows cannot keep the credentials: the security policy DisableDomainCreds forbids it"}, true
	case win32.ERROR_SMB_GUEST_LOGON_BLOCKED:
		return smbCode{FailedPrecondition, SMBOther,
			"the server takes the user for a guest, and Windows allows no guests"}, true
	case win32.ERROR_ACCESS_DENIED, win32.ERROR_NETWORK_ACCESS_DENIED:
		return smbCode{PermissionDenied, SMBShareDenied, ""}, true
	case win32.ERROR_BAD_NET_NAME:
		return smbCode{InvalidArgument, SMBShareMissing, ""}, true
	case win32.ERROR_ALREADY_ASSIGNED:
		return smbCode{AlreadyExists, SMBSessionExists, ""}, true
	case win32.ERROR_SESSION_CREDENTIAL_CONFLICT:
		return smbCode{FailedPrecondition, SMBSessionExists, ""}, true

	case win32.ERROR_DUP_NAME, win32.ERROR_WRONG_TARGET_NAME:
		return smbCode{FailedPrecondition, SMBOther, "the server does not know itself by this name: use its own, or " +
			"register the alias at the server and in the domain"}, true
	case win32.ERROR_MUTUAL_AUTH_FAILED:
		return smbCode{FailedPrecondition, SMBOther, ""}, true
	case win32.ERROR_TIME_SKEW:
		return smbCode{FailedPrecondition, SMBOther, "set the clocks of this node and of the server by the domain's"}, true
	case win32.ERROR_BAD_DEV_TYPE:
		return smbCode{InvalidArgument, SMBOther, "the share is a printer or another device, not a directory"}, true
	case win32.ERROR_SMB1_NOT_AVAILABLE:
		return smbCode{FailedPrecondition, SMBOther, "turn SMB 2 or 3 on at the server"}, true
	case win32.ERROR_SHARING_PAUSED, win32.ERROR_EXTENDED_ERROR:
		return smbCode{Unavailable, SMBOther, ""}, true
	case win32.ERROR_TOO_MANY_NAMES, win32.ERROR_REQ_NOT_ACCEP, win32.ERROR_REMOTE_SESSION_LIMIT_EXCEEDED:
		return smbCode{ResourceExhausted, SMBOther, ""}, true
	case win32.NERR_WkstaNotStarted:
		return smbCode{FailedPrecondition, SMBOther, "start it: sc.exe start LanmanWorkstation"}, true
	}
	return smbCode{}, false
}

// SMB returns where the cause of a failed SMB call lies, and what to do, "" if the code's text says all that is known.
func SMB(err error) (SMBCause, string) {
	var code win32.Errno
	if !errors.As(err, &code) {
		return SMBOther, ""
	}
	of, _ := smbCodeOf(code)
	return of.cause, of.text
}
