// SPDX-License-Identifier: Apache-2.0
//
// The initiator itself: its name, its secret, its persistent logins, and how it proves who it is.
#include <string.h>

#include "fake.h"

#define SHORTEST_SECRET 12 // without IPsec

// longest returns the most bytes that a secret may have. SetIScsiInitiatorCHAPSharedSecret says "less than 128 bits (16
// bytes)"; the page of VDS_ISCSI_SHARED_SECRET says "less than or equal to 16", as do targets' manuals. "secret below-16" is
// the first page's word.
static ULONG longest(const CALL *call)
{
	return control_is(&call->control, "secret", "below-16") ? 15 : 16;
}

// proves reports whether login options prove knowledge of "KEYWORD KEY USER SECRET".
static BOOL proves(const CALL *call, const LINE *line, const OPTIONS *options)
{
	WCHAR node[MAX_ISCSI_NAME_LEN + 1], user[MAX_SECRET + 1], secret[MAX_SECRET + 1];
	node_name(call->state, node);
	MultiByteToWideChar(CP_ACP, 0, (const char *)options->user, -1, user, MAX_SECRET + 1);
	MultiByteToWideChar(CP_ACP, 0, (const char *)options->secret, -1, secret, MAX_SECRET + 1);
	BOOL named = options->fixed.InformationSpecified & ISCSI_LOGIN_OPTIONS_USERNAME;
	return line->words > 3 && !wcscmp(line->wide[2], named ? user : node) && !wcscmp(line->wide[3], secret);
}

// authenticate decides a login at a target ("chap") or of a discovery at a portal ("discovery-chap"). "For CHAP the value in
// the Username member is the CHAP name, and the value in the Password member is the shared secret of the target. If there
// is no value specified in Username, the initiator node name is used" (ISCSI_LOGIN_OPTIONS). With mutual CHAP the target must
// answer with the secret of SetIScsiInitiatorCHAPSharedSecret: "mutual TARGET SECRET" is what it knows.
ISDSC_STATUS authenticate(const CALL *call, const char *keyword, const WCHAR *key, const OPTIONS *options, ULONGLONG security)
{
	const LINE *line = line_about(call, NULL, keyword, key), *mutual = line_about(call, NULL, "mutual", key);
	ULONG bits = options->fixed.InformationSpecified;
	LONG type = bits & ISCSI_LOGIN_OPTIONS_AUTH_TYPE ? options->fixed.AuthType : ISCSI_NO_AUTH_TYPE;
	ULONG shortest = security & ISCSI_SECURITY_FLAG_IKE_IPSEC_ENABLED ? 1 : SHORTEST_SECRET;
	if (type == ISCSI_NO_AUTH_TYPE)
		return line ? ISDSC_AUTHENTICATION_FAILURE : ERROR_SUCCESS;
	if (!(bits & ISCSI_LOGIN_OPTIONS_PASSWORD))
		return ISDSC_TARGET_AUTHINFO_UNAVAILABLE;
	if (options->fixed.PasswordLength < shortest)
		return ISDSC_SHORT_CHAP_SECRET;
	if (options->fixed.PasswordLength > longest(call))
		return ISDSC_INVALID_TARGET_CHAP_SECRET;
	if (type == ISCSI_MUTUAL_CHAP_AUTH_TYPE && !call->state->secret_length)
		return ISDSC_INVALID_INITIATOR_CHAP_SECRET;
	if (!line || !proves(call, line, options))
		return ISDSC_AUTHENTICATION_FAILURE;
	if (type == ISCSI_MUTUAL_CHAP_AUTH_TYPE) {
		WCHAR secret[MAX_SECRET + 1] = {0};
		MultiByteToWideChar(CP_ACP, 0, (const char *)call->state->secret, call->state->secret_length, secret, MAX_SECRET);
		if (!mutual || mutual->words < 3 || wcscmp(mutual->wide[2], secret))
			return ISDSC_AUTHENTICATION_FAILURE;
	}
	return ERROR_SUCCESS;
}

// node_name returns the initiator's node name: by default "based upon the computer name".
void node_name(const STATE *state, WCHAR name[MAX_ISCSI_NAME_LEN + 1])
{
	if (state->node[0]) {
		wcscpy(name, state->node);
		return;
	}
	wcscpy(name, L"iqn.1991-05.com.microsoft:");
	DWORD room = (DWORD)(MAX_ISCSI_NAME_LEN + 1 - wcslen(name));
	GetComputerNameW(name + wcslen(name), &room);
	CharLowerW(name);
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-getiscsiinitiatornodenamew
API GetIScsiInitiatorNodeNameW(PWSTR InitiatorNodeName)
{
	ENTER(call, "GetIScsiInitiatorNodeNameW");
	if (!is_writable(InitiatorNodeName, (MAX_ISCSI_NAME_LEN + 1) * sizeof(WCHAR)))
		return leave(&call, refuse(&call, ERROR_INVALID_PARAMETER, "the buffer cannot hold a name"), "refused");
	node_name(call.state, InitiatorNodeName);
	return leave(&call, ERROR_SUCCESS, "");
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-setiscsiinitiatornodenamew
//
// It "does not verify that the format of the name is correct"; null means the default name.
API SetIScsiInitiatorNodeNameW(PWSTR InitiatorNodeName)
{
	ENTER(call, "SetIScsiInitiatorNodeNameW");
	if (InitiatorNodeName && !is_readable(InitiatorNodeName, sizeof(WCHAR)))
		return leave(&call, refuse(&call, ERROR_INVALID_PARAMETER, "the name is no string"), "refused");
	if (InitiatorNodeName && wcsnlen(InitiatorNodeName, MAX_ISCSI_NAME_LEN + 1) > MAX_ISCSI_NAME_LEN)
		return leave(&call, ISDSC_INVALID_ISCSI_NAME, "too long");
	wcscpy(call.state->node, InitiatorNodeName ? InitiatorNodeName : L"");
	return leave(&call, ERROR_SUCCESS, "%ls", call.state->node);
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-setiscsiinitiatorchapsharedsecret
//
// The secret is "at least 96 bits (12 bytes) for non-IPsec connections". The page names no codes; these are the ones whose meaning
// in the list of codes fits. MS-VDS 2.2.2.3.1.1 says that Windows takes a short one without an error, and that the login then fails: the
// line "secret any" is that.
API SetIScsiInitiatorCHAPSharedSecret(ULONG SharedSecretLength, PUCHAR SharedSecret)
{
	ENTER(call, "SetIScsiInitiatorCHAPSharedSecret");
	if (!is_readable(SharedSecret, SharedSecretLength ? SharedSecretLength : 1))
		return leave(&call, refuse(&call, ERROR_INVALID_PARAMETER, "SharedSecret is not %lu bytes", SharedSecretLength), "refused");
	if (SharedSecretLength && memchr(SharedSecret, 0, SharedSecretLength < MAX_SECRET ? SharedSecretLength : MAX_SECRET))
		refuse(&call, 0, "SharedSecret of %lu bytes holds a NUL: UTF-16, or its end was counted", SharedSecretLength);
	if (SharedSecretLength < SHORTEST_SECRET && !control_is(&call.control, "secret", "any"))
		return leave(&call, ISDSC_SHORT_CHAP_SECRET, "%lu bytes", SharedSecretLength);
	if (SharedSecretLength > longest(&call))
		return leave(&call, ISDSC_INVALID_INITIATOR_CHAP_SECRET, "%lu bytes", SharedSecretLength);
	call.state->secret_length = SharedSecretLength;
	CopyMemory(call.state->secret, SharedSecret, SharedSecretLength);
	return leave(&call, ERROR_SUCCESS, "%lu bytes", SharedSecretLength);
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-getiscsiversioninformation
API GetIScsiVersionInformation(ISCSI_VERSION_INFO *VersionInfo)
{
	ENTER(call, "GetIScsiVersionInformation");
	if (!is_writable(VersionInfo, sizeof *VersionInfo))
		return leave(&call, refuse(&call, ERROR_INVALID_PARAMETER, "VersionInfo is no ISCSI_VERSION_INFO"), "refused");
	VersionInfo->MajorVersion = 10;
	VersionInfo->MinorVersion = 0;
	VersionInfo->BuildNumber = 20348;
	return leave(&call, ERROR_SUCCESS, "");
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-reportiscsipersistentloginsw
//
// The arguments are the count, the logins and the buffer's size, in this order; the size needed comes with
// ERROR_INSUFFICIENT_BUFFER. User names stand behind the structures.
API ReportIScsiPersistentLoginsW(ULONG *Count, PERSISTENT_ISCSI_LOGIN_INFOW *PersistentLoginInfo, PULONG BufferSizeInBytes)
{
	ENTER(call, "ReportIScsiPersistentLoginsW");
	LOGIN *login;
	ULONG count = 0, needed = 0;
	if (!is_writable(Count, sizeof *Count) || !is_writable(BufferSizeInBytes, sizeof *BufferSizeInBytes))
		return leave(&call, refuse(&call, ERROR_INVALID_PARAMETER, "Count or BufferSizeInBytes is no ULONG"), "refused");
	ULONG room = PersistentLoginInfo ? *BufferSizeInBytes : 0;
	if (PersistentLoginInfo && !is_writable(PersistentLoginInfo, room))
		return leave(&call, refuse(&call, ERROR_INVALID_PARAMETER, "PersistentLoginInfo has no %lu bytes", room), "refused");
	FOR_LIST (login, call.state->logins)
		if (login->used) {
			count++;
			needed += sizeof *PersistentLoginInfo + login->options.fixed.UsernameLength;
		}
	*BufferSizeInBytes = needed;
	ULONG empty = needed ? 0 : answer_to(&call, "empty");
	if (empty)
		return leave(&call, empty, "room=%lu of 0", room);
	if (needed > room)
		return leave(&call, ERROR_INSUFFICIENT_BUFFER, "room=%lu of %lu", room, needed);
	FillMemory(PersistentLoginInfo, room, 0xAB);
	UCHAR *behind = (UCHAR *)(PersistentLoginInfo + count);
	FOR_LIST (login, call.state->logins)
		if (login->used) {
			ZeroMemory(PersistentLoginInfo, sizeof *PersistentLoginInfo);
			wcscpy(PersistentLoginInfo->TargetName, login->target);
			PersistentLoginInfo->IsInformationalSession = login->informational;
			wcscpy(PersistentLoginInfo->InitiatorInstance, login->instance);
			PersistentLoginInfo->InitiatorPortNumber = login->port;
			PersistentLoginInfo->TargetPortal = login->portal;
			PersistentLoginInfo->SecurityFlags = login->security;
			behind = put_user(&login->options, &PersistentLoginInfo++->LoginOptions, behind);
		}
	*Count = count;
	return leave(&call, ERROR_SUCCESS, "room=%lu of %lu", room, needed);
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-removeiscsipersistenttargetw
//
// "If Portal is null or contains no information" the target's logins on all portals go, with ISCSI_ALL_INITIATOR_PORTS those of all
// ports. The initiator is not optional.
API RemoveIScsiPersistentTargetW(PWSTR InitiatorInstance, ULONG InitiatorPortNumber, PWSTR TargetName, ISCSI_TARGET_PORTALW *Portal)
{
	ENTER(call, "RemoveIScsiPersistentTargetW");
	LOGIN *login;
	ISDSC_STATUS status = check_name(&call, TargetName, "TargetName");
	if (status == ERROR_SUCCESS && !InitiatorInstance)
		status = refuse(&call, ERROR_INVALID_PARAMETER, "InitiatorInstance, which is not optional, is null");
	if (status == ERROR_SUCCESS)
		status = check_initiator(&call, InitiatorInstance, InitiatorPortNumber);
	if (status == ERROR_SUCCESS && Portal && !is_readable(Portal, sizeof *Portal))
		status = refuse(&call, ERROR_INVALID_PARAMETER, "Portal is no ISCSI_TARGET_PORTAL");
	if (status != ERROR_SUCCESS)
		return leave(&call, status, "refused");
	status = ISDSC_TARGET_NOT_FOUND;
	FOR_LIST (login, call.state->logins)
		if (login->used && !_wcsicmp(login->target, TargetName) &&
			(InitiatorPortNumber == ISCSI_ANY_INITIATOR_PORT || login->port == InitiatorPortNumber) &&
			(!Portal || !Portal->Address[0] || same_portal(&login->portal, Portal))) {
			login->used = FALSE;
			status = ERROR_SUCCESS;
		}
	return leave(&call, status, "%ls %ls %u", TargetName, Portal ? Portal->Address : L"", Portal ? Portal->Socket : 0);
}
