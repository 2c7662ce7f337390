// SPDX-License-Identifier: Apache-2.0
//
// The portals to which the service sends SendTargets requests.
#include <string.h>

#include "fake.h"

// portal_serves reports whether a portal of the network leads to a target: "target TARGET ADDRESS SOCKET [ALIAS]".
BOOL portal_serves(const CALL *call, const ISCSI_TARGET_PORTALW *portal, const WCHAR *target)
{
	for (const LINE *line = line_about(call, NULL, "target", target); line; line = line_about(call, line, "target", target))
		if (line->words > 3 && !_wcsicmp(line->wide[2], portal->Address) && number(line->word[3]) == portal->Socket)
			return TRUE;
	return FALSE;
}

// portal_answers tells how a connection to a portal ends. Only what a "portal ADDRESS SOCKET" line names is there;
// an address with letters that no line names is a DNS name that nobody knows.
ISDSC_STATUS portal_answers(const CALL *call, const ISCSI_TARGET_PORTALW *portal)
{
	const LINE *line = line_about(call, NULL, "portal", portal->Address);
	for (; line; line = line_about(call, line, "portal", portal->Address))
		if (line->words > 2 && number(line->word[2]) == portal->Socket)
			return ERROR_SUCCESS;
	if (!line_about(call, NULL, "portal", portal->Address) && !wcschr(portal->Address, ':') &&
		wcsspn(portal->Address, L"0123456789.") != wcslen(portal->Address))
		return ISDSC_DNS_NAME_UNRESOLVED;
	return ISDSC_CONNECTION_FAILED;
}

static void forget(STATE *state, const ISCSI_TARGET_PORTALW *portal)
{
	DISCOVERY *discovery;
	FOR_LIST (discovery, state->discoveries)
		if (discovery->used && !discovery->is_static && same_portal(&discovery->found, portal))
			discovery->used = FALSE;
}

// discover sends a SendTargets request to a portal of the list.
ISDSC_STATUS discover(CALL *call, const PORTAL *portal)
{
	ISDSC_STATUS status = portal_answers(call, &portal->portal);
	if (status == ERROR_SUCCESS)
		status = authenticate(call, "discovery-chap", portal->portal.Address, &portal->options, portal->security);
	if (status != ERROR_SUCCESS)
		return status;
	forget(call->state, &portal->portal);
	for (const LINE *line = control_find(&call->control, NULL, "target"); line; line = control_find(&call->control, line, "target")) {
		if (line->words < 4 || !portal_serves(call, &portal->portal, line->wide[1]))
			continue;
		DISCOVERY *free;
		FOR_LIST (free, call->state->discoveries)
			if (!free->used)
				break;
		if (free == call->state->discoveries + MAX_LIST)
			return ERROR_OUTOFMEMORY;
		ZeroMemory(free, sizeof *free);
		free->used = TRUE;
		lstrcpynW(free->target, line->wide[1], MAX_ISCSI_NAME_LEN + 1);
		free->found = portal->portal;
		lstrcpynW(free->portal.Address, line->wide[2], MAX_ISCSI_PORTAL_ADDRESS_LEN);
		free->portal.Socket = (USHORT)number(line->word[3]);
		if (line->words > 4)
			lstrcpynW(free->alias, line->wide[4], MAX_ISCSI_ALIAS_LEN + 1);
	}
	return ERROR_SUCCESS;
}

static PORTAL *find_portal(STATE *state, const WCHAR *instance, ULONG port, const ISCSI_TARGET_PORTALW *wanted)
{
	PORTAL *portal;
	FOR_LIST (portal, state->portals)
		if (portal->used && same_portal(&portal->portal, wanted) && !_wcsicmp(portal->instance, instance ? instance : L"") &&
			portal->port == port)
			return portal;
	return NULL;
}

// portal_add puts a portal into the list, or returns NULL if that is full. One that is there loses its options.
PORTAL *portal_add(CALL *call, const WCHAR *instance, ULONG port, const ISCSI_TARGET_PORTALW *wanted)
{
	PORTAL *portal = find_portal(call->state, instance, port, wanted);
	if (!portal)
		FOR_LIST (portal, call->state->portals)
			if (!portal->used)
				break;
	if (portal == call->state->portals + MAX_LIST)
		return NULL;
	ZeroMemory(portal, sizeof *portal);
	portal->used = TRUE;
	lstrcpynW(portal->instance, instance, MAX_ISCSI_HBANAME_LEN);
	portal->port = port;
	portal->portal = *wanted;
	return portal;
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-addiscsisendtargetportalw
//
// Discovery runs at once. If it fails, the caller learns so and the portal stays in the list, as
// TestAddUnresponsiveTargetPortal of wk8/go-win-iscsidsc saw on Windows; the page says neither. Of a portal that is in the list
// already the page says nothing: it is discovered again, or the control line "answer" names another code.
API AddIScsiSendTargetPortalW(PWSTR InitiatorInstance, ULONG InitiatorPortNumber, ISCSI_LOGIN_OPTIONS *LoginOptions,
	ULONGLONG SecurityFlags, ISCSI_TARGET_PORTALW *Portal)
{
	ENTER(call, "AddIScsiSendTargetPortalW");
	OPTIONS options;
	ISDSC_STATUS status = check_portal(&call, Portal, "Portal");
	if (status == ERROR_SUCCESS)
		status = check_initiator(&call, InitiatorInstance, InitiatorPortNumber);
	if (status == ERROR_SUCCESS)
		status = check_security(&call, SecurityFlags);
	if (status == ERROR_SUCCESS)
		status = check_options(&call, LoginOptions, &options);
	if (status != ERROR_SUCCESS)
		return leave(&call, status, "refused");
	PORTAL *portal = portal_add(&call, InitiatorInstance ? InitiatorInstance : L"", InitiatorPortNumber, Portal);
	if (!portal)
		return leave(&call, ERROR_OUTOFMEMORY, "%ls", Portal->Address);
	portal->security = SecurityFlags;
	portal->options = options;
	return leave(&call, discover(&call, portal), "%ls %u name=%ls auth=%ld", Portal->Address, Portal->Socket,
		Portal->SymbolicName, options.fixed.AuthType);
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-removeiscsisendtargetportalw
API RemoveIScsiSendTargetPortalW(PWSTR InitiatorInstance, ULONG InitiatorPortNumber, ISCSI_TARGET_PORTALW *Portal)
{
	ENTER(call, "RemoveIScsiSendTargetPortalW");
	ISDSC_STATUS status = check_portal(&call, Portal, "Portal");
	if (status == ERROR_SUCCESS)
		status = check_initiator(&call, InitiatorInstance, InitiatorPortNumber);
	if (status != ERROR_SUCCESS)
		return leave(&call, status, "refused");
	PORTAL *portal = find_portal(call.state, InitiatorInstance, InitiatorPortNumber, Portal);
	if (!portal)
		return leave(&call, ISDSC_PORTAL_NOT_FOUND, "%ls %u", Portal->Address, Portal->Socket);
	forget(call.state, &portal->portal);
	portal->used = FALSE;
	return leave(&call, ERROR_SUCCESS, "%ls %u", Portal->Address, Portal->Socket);
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-refreshiscsisendtargetportalw
API RefreshIScsiSendTargetPortalW(PWSTR InitiatorInstance, ULONG InitiatorPortNumber, ISCSI_TARGET_PORTALW *Portal)
{
	ENTER(call, "RefreshIScsiSendTargetPortalW");
	ISDSC_STATUS status = check_portal(&call, Portal, "Portal");
	if (status == ERROR_SUCCESS)
		status = check_initiator(&call, InitiatorInstance, InitiatorPortNumber);
	if (status != ERROR_SUCCESS)
		return leave(&call, status, "refused");
	PORTAL *portal = find_portal(call.state, InitiatorInstance, InitiatorPortNumber, Portal);
	status = portal ? discover(&call, portal) : ISDSC_PORTAL_NOT_FOUND;
	return leave(&call, status, "%ls %u", Portal->Address, Portal->Socket);
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-reportiscsisendtargetportalsw
//
// The page promises no count with ERROR_INSUFFICIENT_BUFFER; with "sizes observed" there is one.
API ReportIScsiSendTargetPortalsW(PULONG PortalCount, ISCSI_TARGET_PORTAL_INFOW *PortalInfo)
{
	ENTER(call, "ReportIScsiSendTargetPortalsW");
	PORTAL *portal;
	ULONG count = 0, room;
	FOR_LIST (portal, call.state->portals)
		count += portal->used;
	if (!is_writable(PortalCount, sizeof *PortalCount))
		return leave(&call, refuse(&call, ERROR_INVALID_PARAMETER, "PortalCount is no ULONG"), "refused");
	room = PortalInfo ? *PortalCount : 0;
	if (PortalInfo && !is_writable(PortalInfo, (SIZE_T)room * sizeof *PortalInfo))
		return leave(&call, refuse(&call, ERROR_INVALID_PARAMETER, "PortalInfo has no %lu elements", room), "refused");
	if (count > room) {
		if (control_is(&call.control, "sizes", "observed"))
			*PortalCount = count;
		return leave(&call, ERROR_INSUFFICIENT_BUFFER, "room=%lu of %lu", room, count);
	}
	FOR_LIST (portal, call.state->portals)
		if (portal->used) {
			ZeroMemory(PortalInfo, sizeof *PortalInfo);
			wcscpy(PortalInfo->InitiatorName, portal->instance);
			PortalInfo->InitiatorPortNumber = portal->port;
			wcscpy(PortalInfo->SymbolicName, portal->portal.SymbolicName);
			wcscpy(PortalInfo->Address, portal->portal.Address);
			PortalInfo++->Socket = portal->portal.Socket;
		}
	*PortalCount = count;
	return leave(&call, ERROR_SUCCESS, "room=%lu of %lu", room, count);
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-reportiscsisendtargetportalsexw
//
// PortalInfoSize receives the bytes retrieved; the page promises nothing for ERROR_INSUFFICIENT_BUFFER. On Windows it then
// receives the bytes needed, by which hpe-storage/common-host-libs and go-win-iscsidsc live: "sizes observed".
API ReportIScsiSendTargetPortalsExW(PULONG PortalCount, PULONG PortalInfoSize, ISCSI_TARGET_PORTAL_INFO_EXW *PortalInfo)
{
	ENTER(call, "ReportIScsiSendTargetPortalsExW");
	PORTAL *portal;
	ULONG count = 0, needed = 0, room;
	if (!is_writable(PortalCount, sizeof *PortalCount) || !is_writable(PortalInfoSize, sizeof *PortalInfoSize))
		return leave(&call, refuse(&call, ERROR_INVALID_PARAMETER, "PortalCount or PortalInfoSize is no ULONG"), "refused");
	room = PortalInfo ? *PortalInfoSize : 0;
	if (PortalInfo && !is_writable(PortalInfo, room))
		return leave(&call, refuse(&call, ERROR_INVALID_PARAMETER, "PortalInfo has no %lu bytes", room), "refused");
	if (PortalInfo && (ULONGLONG)*PortalCount * sizeof *PortalInfo > room)
		return leave(&call, refuse(&call, ERROR_INVALID_PARAMETER, "%lu elements are said to fit %lu bytes", *PortalCount, room),
			"refused");
	FOR_LIST (portal, call.state->portals)
		if (portal->used) {
			count++;
			needed += sizeof *PortalInfo + portal->options.fixed.UsernameLength;
		}
	if (needed > room) {
		if (control_is(&call.control, "sizes", "observed")) {
			*PortalCount = count;
			*PortalInfoSize = needed;
		}
		return leave(&call, ERROR_INSUFFICIENT_BUFFER, "room=%lu of %lu", room, needed);
	}
	FillMemory(PortalInfo, room, 0xAB);
	UCHAR *behind = (UCHAR *)(PortalInfo + count);
	FOR_LIST (portal, call.state->portals)
		if (portal->used) {
			ZeroMemory(PortalInfo, sizeof *PortalInfo);
			wcscpy(PortalInfo->InitiatorName, portal->instance);
			PortalInfo->InitiatorPortNumber = portal->port;
			wcscpy(PortalInfo->SymbolicName, portal->portal.SymbolicName);
			wcscpy(PortalInfo->Address, portal->portal.Address);
			PortalInfo->Socket = portal->portal.Socket;
			PortalInfo->SecurityFlags = portal->security;
			behind = put_user(&portal->options, &PortalInfo++->LoginOptions, behind);
		}
	*PortalCount = count;
	*PortalInfoSize = needed;
	return leave(&call, ERROR_SUCCESS, "room=%lu of %lu", room, needed);
}
