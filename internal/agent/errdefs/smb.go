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

// smbCodes has the codes of the SMB client, which asks the network, the file server and the domain. The sources are the
// pages "WNetAddConnection2W", "System Error Codes" and "Network Management Error Codes".
var smbCodes = map[win32.Errno]smbCode{
	win32.ERROR_REM_NOT_LIST:        {Unavailable, SMBServerSilent, ""},
	win32.ERROR_BAD_NETPATH:         {Unavailable, SMBServerSilent, ""},
	win32.ERROR_NETWORK_BUSY:        {Unavailable, SMBServerSilent, ""},
	win32.ERROR_BAD_NET_RESP:        {Unavailable, SMBServerSilent, ""},
	win32.ERROR_UNEXP_NET_ERR:       {Unavailable, SMBServerSilent, ""},
	win32.ERROR_NETNAME_DELETED:     {Unavailable, SMBServerSilent, ""},
	win32.ERROR_SEM_TIMEOUT:         {DeadlineExceeded, SMBServerSilent, ""},
	win32.ERROR_VC_DISCONNECTED:     {Unavailable, SMBServerSilent, ""},
	win32.ERROR_NO_NET_OR_BAD_PATH:  {Unavailable, SMBServerSilent, ""},
	win32.ERROR_NO_NETWORK:          {Unavailable, SMBServerSilent, ""},
	win32.ERROR_CONNECTION_REFUSED:  {Unavailable, SMBServerSilent, ""},
	win32.ERROR_NETWORK_UNREACHABLE: {Unavailable, SMBServerSilent, ""},
	win32.ERROR_HOST_UNREACHABLE:    {Unavailable, SMBServerSilent, ""},

	win32.ERROR_DOWNGRADE_DETECTED: {Unavailable, SMBDomainSilent, ""},
	win32.ERROR_NO_LOGON_SERVERS:   {Unavailable, SMBDomainSilent, ""},
	win32.ERROR_NO_SUCH_DOMAIN:     {Unavailable, SMBDomainSilent, ""},
	win32.ERROR_NO_TRUST_SAM_ACCOUNT: {FailedPrecondition, SMBDomainSilent,
		"the domain has no account of this computer: join it again"},
	win32.ERROR_TRUSTED_RELATIONSHIP_FAILURE: {FailedPrecondition, SMBDomainSilent,
		"the domain does not trust this computer: join it again"},

	win32.ERROR_INVALID_PASSWORD:            {Unauthenticated, SMBLogonRefused, ""},
	win32.ERROR_LOGIN_WKSTA_RESTRICTION:     {Unauthenticated, SMBLogonRefused, ""},
	win32.ERROR_NO_SUCH_LOGON_SESSION:       {Unauthenticated, SMBLogonRefused, noStoredCredentials},
	win32.ERROR_LOGON_FAILURE:               {Unauthenticated, SMBLogonRefused, ""},
	win32.ERROR_ACCOUNT_RESTRICTION:         {Unauthenticated, SMBLogonRefused, ""},
	win32.ERROR_INVALID_LOGON_HOURS:         {Unauthenticated, SMBLogonRefused, ""},
	win32.ERROR_INVALID_WORKSTATION:         {Unauthenticated, SMBLogonRefused, ""},
	win32.ERROR_PASSWORD_EXPIRED:            {Unauthenticated, SMBLogonRefused, ""},
	win32.ERROR_ACCOUNT_DISABLED:            {Unauthenticated, SMBLogonRefused, ""},
	win32.ERROR_LOGON_TYPE_NOT_GRANTED:      {Unauthenticated, SMBLogonRefused, ""},
	win32.ERROR_ACCOUNT_EXPIRED:             {Unauthenticated, SMBLogonRefused, ""},
	win32.ERROR_PASSWORD_MUST_CHANGE:        {Unauthenticated, SMBLogonRefused, ""},
	win32.ERROR_ACCOUNT_LOCKED_OUT:          {Unauthenticated, SMBLogonRefused, ""},
	win32.ERROR_BAD_USERNAME:                {Unauthenticated, SMBLogonRefused, ""},
	win32.NERR_PasswordExpired:              {Unauthenticated, SMBLogonRefused, ""},
	win32.ERROR_SMB_GUEST_LOGON_BLOCKED:     {FailedPrecondition, SMBOther, guestRefused},
	win32.ERROR_ACCESS_DENIED:               {PermissionDenied, SMBShareDenied, ""},
	win32.ERROR_NETWORK_ACCESS_DENIED:       {PermissionDenied, SMBShareDenied, ""},
	win32.ERROR_BAD_NET_NAME:                {InvalidArgument, SMBShareMissing, ""},
	win32.ERROR_ALREADY_ASSIGNED:            {AlreadyExists, SMBSessionExists, ""},
	win32.ERROR_SESSION_CREDENTIAL_CONFLICT: {FailedPrecondition, SMBSessionExists, ""},

	win32.ERROR_DUP_NAME:           {FailedPrecondition, SMBOther, aliasName},
	win32.ERROR_WRONG_TARGET_NAME:  {FailedPrecondition, SMBOther, aliasName},
	win32.ERROR_MUTUAL_AUTH_FAILED: {FailedPrecondition, SMBOther, ""},
	win32.ERROR_TIME_SKEW:          {FailedPrecondition, SMBOther, wrongClocks},
	win32.ERROR_BAD_DEV_TYPE:       {InvalidArgument, SMBOther, "the share is no directory, but a printer or the like"},
	win32.ERROR_SMB1_NOT_AVAILABLE: {FailedPrecondition, SMBOther, "turn SMB 2 or 3 on at the server"},
	win32.ERROR_SHARING_PAUSED:     {Unavailable, SMBOther, ""},
	win32.ERROR_EXTENDED_ERROR:     {Unavailable, SMBOther, ""},
	win32.ERROR_TOO_MANY_NAMES:     {ResourceExhausted, SMBOther, ""},
	win32.ERROR_REQ_NOT_ACCEP:      {ResourceExhausted, SMBOther, ""},
	win32.NERR_WkstaNotStarted:     {FailedPrecondition, SMBOther, "start it: sc.exe start LanmanWorkstation"},
}

const (
	noStoredCredentials = "Windows cannot keep the credentials: the security policy DisableDomainCreds forbids it"
	guestRefused        = "the server takes the user for a guest, and Windows allows no guests"
	wrongClocks         = "set the clocks of this node and of the server by the domain's"
	aliasName           = "the server does not know itself by this name: use its own, or register the alias at the " +
		"server and in the domain"
)

// SMB returns where the cause of a failed SMB call lies, and what to do, "" where nothing more than the code's text is
// known.
func SMB(err error) (SMBCause, string) {
	var code win32.Errno
	if !errors.As(err, &code) {
		return SMBOther, ""
	}
	return smbCodes[code].cause, smbCodes[code].text
}
