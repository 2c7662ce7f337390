// SPDX-License-Identifier: Apache-2.0
//
// The rules for arguments that several functions share. A check answers the status with which the call ends.
#include <string.h>

#include "fake.h"

static BOOL terminated(const WCHAR *text, size_t size)
{
	return wcsnlen(text, size) < size;
}

// check_name checks an iSCSI name that is not optional. Names have at most MAX_ISCSI_NAME_LEN characters and begin with
// their type; one that does not is the user's mistake and no violation.
ISDSC_STATUS check_name(CALL *call, const WCHAR *name, const char *parameter)
{
	if (!is_readable(name, sizeof(WCHAR)))
		return refuse(call, ERROR_INVALID_PARAMETER, "%s, which is not optional, is no string", parameter);
	size_t length = wcsnlen(name, MAX_ISCSI_NAME_LEN + 1);
	if (length == 0 || length > MAX_ISCSI_NAME_LEN)
		return ISDSC_INVALID_ISCSI_NAME;
	if (wcsncmp(name, L"iqn.", 4) && wcsncmp(name, L"eui.", 4) && wcsncmp(name, L"naa.", 4))
		return ISDSC_INVALID_ISCSI_NAME;
	return ERROR_SUCCESS;
}

// check_initiator checks an optional initiator and its port: "If InitiatorName is null, InitiatorPortNumber must be
// ISCSI_ANY_INITIATOR_PORT" (LoginIScsiTarget).
ISDSC_STATUS check_initiator(CALL *call, const WCHAR *instance, ULONG port)
{
	if (!instance && port != ISCSI_ANY_INITIATOR_PORT)
		return refuse(call, ERROR_INVALID_PARAMETER, "no initiator, but its port %lu", port);
	if (!instance)
		return ERROR_SUCCESS;
	if (!is_readable(instance, sizeof(WCHAR)) || !terminated(instance, MAX_ISCSI_HBANAME_LEN))
		return refuse(call, ERROR_INVALID_PARAMETER, "the initiator's name is no string");
	return _wcsicmp(instance, INSTANCE) ? ISDSC_INITIATOR_NOT_FOUND : ERROR_SUCCESS;
}

// check_portal checks an ISCSI_TARGET_PORTAL that is not optional.
ISDSC_STATUS check_portal(CALL *call, const ISCSI_TARGET_PORTALW *portal, const char *parameter)
{
	if (!is_readable(portal, sizeof *portal))
		return refuse(call, ERROR_INVALID_PARAMETER, "%s, which is not optional, is no ISCSI_TARGET_PORTAL", parameter);
	if (!terminated(portal->SymbolicName, MAX_ISCSI_PORTAL_NAME_LEN) || !terminated(portal->Address, MAX_ISCSI_PORTAL_ADDRESS_LEN))
		return refuse(call, ERROR_INVALID_PARAMETER, "%s has a string without an end", parameter);
	if (!portal->Address[0])
		return refuse(call, ERROR_INVALID_PARAMETER, "%s has no address", parameter);
	return ERROR_SUCCESS;
}

// check_security checks ISCSI_SECURITY_FLAGS: of tunnel and transport mode, and of main and aggressive mode, a caller
// "should set" one "but not both".
ISDSC_STATUS check_security(CALL *call, ULONGLONG flags)
{
	const ULONGLONG modes = ISCSI_SECURITY_FLAG_TUNNEL_MODE_PREFERRED | ISCSI_SECURITY_FLAG_TRANSPORT_MODE_PREFERRED;
	const ULONGLONG exchanges = ISCSI_SECURITY_FLAG_MAIN_MODE_ENABLED | ISCSI_SECURITY_FLAG_AGGRESSIVE_MODE_ENABLED;
	if (flags & ~(ULONGLONG)ISCSI_SECURITY_FLAGS_ALL || (flags & modes) == modes || (flags & exchanges) == exchanges)
		return refuse(call, ERROR_INVALID_PARAMETER, "security flags 0x%I64X", flags);
	return ERROR_SUCCESS;
}

// check_bytes checks a user name or a password, "which must be ANSI strings" if the protocol wants strings. UTF-16, or an
// end that was counted, is not what the other side expects.
static BOOL check_bytes(CALL *call, const UCHAR *bytes, ULONG length, const char *member)
{
	if (length > MAX_SECRET || !is_readable(bytes, length ? length : 1))
		return refuse(call, FALSE, "%s and its length %lu do not name bytes", member, length);
	if (length && memchr(bytes, 0, length))
		return refuse(call, FALSE, "%s of %lu bytes is not an ANSI string without its end", member, length);
	return TRUE;
}

// check_options checks optional login options by the page of ISCSI_LOGIN_OPTIONS and keeps a copy.
ISDSC_STATUS check_options(CALL *call, const ISCSI_LOGIN_OPTIONS *options, OPTIONS *kept)
{
	ZeroMemory(kept, sizeof *kept);
	if (!options)
		return ERROR_SUCCESS;
	if (!is_readable(options, sizeof *options))
		return refuse(call, ERROR_INVALID_PARAMETER, "LoginOptions is no ISCSI_LOGIN_OPTIONS");
	ULONG bits = options->InformationSpecified;
	if (options->Version != 0)
		return refuse(call, ERROR_INVALID_PARAMETER, "LoginOptions.Version is %lu: it must be 0", options->Version);
	if (bits & ~ISCSI_LOGIN_OPTIONS_ALL)
		return refuse(call, ERROR_INVALID_PARAMETER, "LoginOptions.InformationSpecified is 0x%lX", bits);
	if (options->LoginFlags & ~ISCSI_LOGIN_FLAGS_ALL || options->LoginFlags & ISCSI_LOGIN_FLAG_RESERVED1)
		return refuse(call, ERROR_INVALID_PARAMETER, "LoginOptions.LoginFlags is 0x%lX", options->LoginFlags);
	if (bits & ISCSI_LOGIN_OPTIONS_AUTH_TYPE && (ULONG)options->AuthType > ISCSI_MUTUAL_CHAP_AUTH_TYPE)
		return refuse(call, ISDSC_INVALID_LOGON_AUTH_TYPE, "LoginOptions.AuthType is %ld", options->AuthType);
	if ((bits & ISCSI_LOGIN_OPTIONS_HEADER_DIGEST && (ULONG)options->HeaderDigest > 1) ||
		(bits & ISCSI_LOGIN_OPTIONS_DATA_DIGEST && (ULONG)options->DataDigest > 1))
		return refuse(call, ERROR_INVALID_PARAMETER, "LoginOptions has a digest that there is not");
	if (bits & ISCSI_LOGIN_OPTIONS_MAXIMUM_CONNECTIONS &&
		(options->MaximumConnections < 1 || options->MaximumConnections > 65535))
		return refuse(call, ERROR_INVALID_PARAMETER, "LoginOptions.MaximumConnections is %lu", options->MaximumConnections);
	kept->fixed = *options;
	kept->fixed.Username = kept->fixed.Password = NULL;
	if (bits & ISCSI_LOGIN_OPTIONS_USERNAME) {
		if (!check_bytes(call, options->Username, options->UsernameLength, "LoginOptions.Username"))
			return ERROR_INVALID_PARAMETER;
		memcpy(kept->user, options->Username, options->UsernameLength);
	} else {
		kept->fixed.UsernameLength = 0;
	}
	if (bits & ISCSI_LOGIN_OPTIONS_PASSWORD) {
		if (!check_bytes(call, options->Password, options->PasswordLength, "LoginOptions.Password"))
			return ERROR_INVALID_PARAMETER;
		memcpy(kept->secret, options->Password, options->PasswordLength);
	} else {
		kept->fixed.PasswordLength = 0;
	}
	return ERROR_SUCCESS;
}

// check_key checks an optional preshared key.
ISDSC_STATUS check_key(CALL *call, ULONG size, const char *key)
{
	if (size && !is_readable(key, size))
		return refuse(call, ERROR_INVALID_PARAMETER, "Key is not KeySize, %lu, bytes", size);
	return ERROR_SUCCESS;
}

BOOL same_portal(const ISCSI_TARGET_PORTALW *a, const ISCSI_TARGET_PORTALW *b)
{
	return !_wcsicmp(a->Address, b->Address) && a->Socket == b->Socket;
}

// put_user fills login options for a list. The user name stands behind the list's structures at place; a password is
// never reported: TestAddTargetPortalWithDiscoveryCHAPAuthentication of wk8/go-win-iscsidsc saw that on Windows.
UCHAR *put_user(const OPTIONS *kept, ISCSI_LOGIN_OPTIONS *options, UCHAR *place)
{
	*options = kept->fixed;
	options->InformationSpecified &= ~ISCSI_LOGIN_OPTIONS_PASSWORD;
	options->PasswordLength = 0;
	if (options->UsernameLength) {
		options->Username = place;
		memcpy(place, kept->user, options->UsernameLength);
	}
	return place + options->UsernameLength;
}
