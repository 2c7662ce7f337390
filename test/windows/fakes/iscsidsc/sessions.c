// SPDX-License-Identifier: Apache-2.0
//
// Sessions: logging in and out.
#include <string.h>

#include "fake.h"

SESSION *session_new(STATE *state, const WCHAR *target, const ISCSI_TARGET_PORTALW *portal)
{
	SESSION *session;
	FOR_LIST (session, state->sessions)
		if (!session->used)
			break;
	if (session == state->sessions + MAX_LIST)
		return NULL;
	ZeroMemory(session, sizeof *session);
	session->used = TRUE;
	session->id = ++state->next_id;
	lstrcpynW(session->target, target, MAX_ISCSI_NAME_LEN + 1);
	session->connections = 1;
	session->connection[0].id = ++state->next_id;
	session->connection[0].portal = *portal;
	return session;
}

// The opaque identifiers: one adapter, and a number that is never given twice.
static const ULONGLONG adapter = 0xFFFFFA8000FA4E01ull;

ISCSI_UNIQUE_ID unique(ULONGLONG id)
{
	ISCSI_UNIQUE_ID made = {adapter, 0x4000013700000000ull | id};
	return made;
}

BOOL is_unique(const ISCSI_UNIQUE_ID *id, ULONGLONG wanted)
{
	return id->AdapterUnique == adapter && id->AdapterSpecific == unique(wanted).AdapterSpecific;
}

SESSION *session_find(CALL *call, const ISCSI_UNIQUE_ID *id, ISDSC_STATUS *status)
{
	SESSION *session;
	if (!is_readable(id, sizeof *id)) {
		*status = refuse(call, ERROR_INVALID_PARAMETER, "UniqueSessionId, which is not optional, is no identifier");
		return NULL;
	}
	FOR_LIST (session, call->state->sessions)
		if (session->used && is_unique(id, session->id))
			return session;
	*status = ISDSC_INVALID_SESSION_ID;
	return NULL;
}

// choose finds the portal of a login: the caller's, of which "the iSCSI initiator service will not verify that the
// TargetPortal is accessible", or any through which the target was discovered.
static ISDSC_STATUS choose(CALL *call, const WCHAR *target, const ISCSI_TARGET_PORTALW *wanted, ISCSI_TARGET_PORTALW *chosen)
{
	DISCOVERY *one;
	if (wanted) {
		*chosen = *wanted;
	} else {
		FOR_LIST (one, call->state->discoveries)
			if (one->used && one->portal.Address[0] && !_wcsicmp(one->target, target))
				break;
		if (one == call->state->discoveries + MAX_LIST)
			return ISDSC_NO_PORTAL_SPECIFIED;
		*chosen = one->portal;
	}
	ISDSC_STATUS status = portal_answers(call, chosen);
	if (status == ERROR_SUCCESS && !portal_serves(call, chosen, target))
		status = ISDSC_NOT_FOUND;
	return status;
}

// login_add saves a login, or returns NULL if the list is full. The service chose the initiator. One that is there is replaced.
LOGIN *login_add(CALL *call, const WCHAR *target, const ISCSI_TARGET_PORTALW *portal)
{
	LOGIN *login, *chosen = NULL;
	FOR_LIST (login, call->state->logins) {
		if (login->used && !_wcsicmp(login->target, target) && same_portal(&login->portal, portal)) {
			chosen = login;
			break;
		}
		if (!login->used && !chosen)
			chosen = login;
	}
	if (!chosen)
		return NULL;
	ZeroMemory(chosen, sizeof *chosen);
	chosen->used = TRUE;
	lstrcpynW(chosen->target, target, MAX_ISCSI_NAME_LEN + 1);
	wcscpy(chosen->instance, INSTANCE);
	chosen->port = ISCSI_ANY_INITIATOR_PORT;
	chosen->portal = *portal;
	return chosen;
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-loginiscsitargetw
//
// "LoginIscsiTarget either establishes a single login session with a target, or creates a persistent login": with
// IsPersistent no session is made, as common-host-libs and os-win, which call it twice, found too. IsPersistent's own text can
// be read otherwise; the control line "persistent connects" is that reading. A second session needs
// ISCSI_LOGIN_FLAG_MULTIPATH_ENABLED (page of ISCSI_LOGIN_OPTIONS).
API LoginIScsiTargetW(PWSTR TargetName, BOOLEAN IsInformationalSession, PWSTR InitiatorInstance, ULONG InitiatorPortNumber,
	ISCSI_TARGET_PORTALW *TargetPortal, ULONGLONG SecurityFlags, ISCSI_TARGET_MAPPINGW *Mappings,
	ISCSI_LOGIN_OPTIONS *Options, ULONG KeySize, PCHAR Key, BOOLEAN IsPersistent, ISCSI_UNIQUE_ID *UniqueSessionId,
	ISCSI_UNIQUE_ID *UniqueConnectionId)
{
	ENTER(call, "LoginIScsiTargetW");
	OPTIONS options;
	ISCSI_TARGET_PORTALW portal;
	SESSION *session;
	ISDSC_STATUS status = check_name(&call, TargetName, "TargetName");
	if (status == ERROR_SUCCESS)
		status = check_initiator(&call, InitiatorInstance, InitiatorPortNumber);
	if (status == ERROR_SUCCESS && TargetPortal)
		status = check_portal(&call, TargetPortal, "TargetPortal");
	if (status == ERROR_SUCCESS)
		status = check_security(&call, SecurityFlags);
	if (status == ERROR_SUCCESS && Mappings && !is_readable(Mappings, sizeof *Mappings))
		status = refuse(&call, ERROR_INVALID_PARAMETER, "Mappings is no ISCSI_TARGET_MAPPING");
	if (status == ERROR_SUCCESS)
		status = check_options(&call, Options, &options);
	if (status == ERROR_SUCCESS)
		status = check_key(&call, KeySize, Key);
	if (status == ERROR_SUCCESS && (IsInformationalSession > 1 || IsPersistent > 1))
		status = refuse(&call, ERROR_INVALID_PARAMETER, "a BOOLEAN is neither 0 nor 1");
	if (status == ERROR_SUCCESS && (!is_writable(UniqueSessionId, sizeof *UniqueSessionId) ||
									   !is_writable(UniqueConnectionId, sizeof *UniqueConnectionId)))
		status = refuse(&call, ERROR_INVALID_PARAMETER, "UniqueSessionId or UniqueConnectionId, not optional, is no identifier");
	if (status != ERROR_SUCCESS)
		return leave(&call, status, "refused");
	if (!discovered(call.state, TargetName))
		return leave(&call, ISDSC_TARGET_NOT_FOUND, "%ls", TargetName);
	if (IsPersistent) {
		static const ISCSI_TARGET_PORTALW any;
		LOGIN *login = login_add(&call, TargetName, TargetPortal ? TargetPortal : &any);
		if (!login)
			return leave(&call, ERROR_OUTOFMEMORY, "%ls", TargetName);
		login->informational = IsInformationalSession;
		login->port = InitiatorPortNumber;
		login->security = SecurityFlags;
		login->options = options;
		if (!control_is(&call.control, "persistent", "connects"))
			return leave(&call, ERROR_SUCCESS, "%ls persistent auth=%ld", TargetName, options.fixed.AuthType);
	}
	if (!(options.fixed.LoginFlags & ISCSI_LOGIN_FLAG_MULTIPATH_ENABLED))
		FOR_LIST (session, call.state->sessions)
			if (session->used && !_wcsicmp(session->target, TargetName))
				return leave(&call, ISDSC_TARGET_ALREADY_LOGGED_IN, "%ls", TargetName);
	status = choose(&call, TargetName, TargetPortal, &portal);
	if (status == ERROR_SUCCESS)
		status = authenticate(&call, "chap", TargetName, &options, SecurityFlags);
	if (status != ERROR_SUCCESS)
		return leave(&call, status, "%ls auth=%ld", TargetName, options.fixed.AuthType);
	session = session_new(call.state, TargetName, &portal);
	if (!session)
		return leave(&call, ERROR_OUTOFMEMORY, "%ls", TargetName);
	session->informational = IsInformationalSession;
	*UniqueSessionId = unique(session->id);
	*UniqueConnectionId = unique(session->connection[0].id);
	return leave(&call, ERROR_SUCCESS, "%ls %ls %u auth=%ld user=%s flags=0x%lX", TargetName, portal.Address, portal.Socket,
		options.fixed.AuthType, options.user, options.fixed.LoginFlags);
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-logoutiscsitarget
//
// "The iSCSI initiator service ensures that all devices associated with the session can be safely removed": a target that
// a "busy TARGET" line names has one that cannot. An informational session has no devices.
API LogoutIScsiTarget(ISCSI_UNIQUE_ID *UniqueSessionId)
{
	ENTER(call, "LogoutIScsiTarget");
	ISDSC_STATUS status;
	SESSION *session = session_find(&call, UniqueSessionId, &status);
	if (!session)
		return leave(&call, status, "unknown");
	if (!session->informational && line_about(&call, NULL, "busy", session->target))
		return leave(&call, ISDSC_DEVICE_BUSY_ON_SESSION, "%ls", session->target);
	session->used = FALSE;
	return leave(&call, ERROR_SUCCESS, "%ls", session->target);
}
