// SPDX-License-Identifier: Apache-2.0
//
// The targets that the service knows: discovered by SendTargets, or static.
#include <stdlib.h>
#include <string.h>

#include "fake.h"

DISCOVERY *discovered(STATE *state, const WCHAR *target)
{
	DISCOVERY *discovery;
	FOR_LIST (discovery, state->discoveries)
		if (discovery->used && !_wcsicmp(discovery->target, target))
			return discovery;
	return NULL;
}

// is_shown reports whether a discovery stands for its target in the list: a hidden static one does not, and the first of the
// others does.
static BOOL is_shown(STATE *state, const DISCOVERY *wanted)
{
	DISCOVERY *one;
	FOR_LIST (one, state->discoveries)
		if (one->used && !(one->flags & ISCSI_TARGET_FLAG_HIDE_STATIC_TARGET) && !_wcsicmp(one->target, wanted->target))
			return one == wanted;
	return FALSE;
}

// put_list answers a list of strings, the last of which ends with two NULs, in a buffer that counts characters. What the
// caller may write is written: a reader must stop at the two NULs.
static ISDSC_STATUS put_list(CALL *call, const WCHAR *list, ULONG length, PULONG size, PWSTR buffer, BOOL gives_size)
{
	if (!is_writable(size, sizeof *size))
		return leave(call, refuse(call, ERROR_INVALID_PARAMETER, "the buffer's size is no ULONG"), "refused");
	ULONG room = buffer ? *size : 0;
	if (buffer && !is_writable(buffer, (SIZE_T)room * sizeof(WCHAR)))
		return leave(call, refuse(call, ERROR_INVALID_PARAMETER, "the buffer has no %lu characters", room), "refused");
	ULONG empty = answer_to(call, "empty");
	if (empty) {
		*size = 0;
		return leave(call, empty, "room=%lu of 0", room);
	}
	if (length > room) {
		if (gives_size)
			*size = length;
		return leave(call, ERROR_INSUFFICIENT_BUFFER, "room=%lu of %lu", room, length);
	}
	FillMemory(buffer, room * sizeof(WCHAR), 0xAB);
	CopyMemory(buffer, list, length * sizeof(WCHAR));
	*size = length;
	return leave(call, ERROR_SUCCESS, "room=%lu of %lu", room, length);
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-reportiscsitargetsw
//
// BufferSize counts list elements: characters. The page promises no size with ERROR_INSUFFICIENT_BUFFER; on Windows there is
// one ("sizes observed"), and for a moment it can be 0 (hpe-storage/common-host-libs, BZ30145). A forced update asks every
// portal; one that does not answer does not fail the call.
API ReportIScsiTargetsW(BOOLEAN ForceUpdate, PULONG BufferSize, PWSTR Buffer)
{
	ENTER(call, "ReportIScsiTargetsW");
	PORTAL *portal;
	DISCOVERY *one;
	if (ForceUpdate > 1)
		return leave(&call, refuse(&call, ERROR_INVALID_PARAMETER, "ForceUpdate is %u", ForceUpdate), "refused");
	if (ForceUpdate)
		FOR_LIST (portal, call.state->portals)
			if (portal->used)
				discover(&call, portal);
	WCHAR *list = calloc(MAX_LIST * (MAX_ISCSI_NAME_LEN + 1) + 2, sizeof(WCHAR)), *place = list;
	FOR_LIST (one, call.state->discoveries)
		if (one->used && is_shown(call.state, one)) {
			wcscpy(place, one->target);
			place += wcslen(place) + 1;
		}
	ULONG length = (ULONG)(place == list ? 2 : place - list + 1);
	ISDSC_STATUS status = put_list(&call, list, length, BufferSize, Buffer, control_is(&call.control, "sizes", "observed"));
	free(list);
	return status;
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-reportiscsiinitiatorlistw
API ReportIScsiInitiatorListW(PULONG BufferSize, PWSTR Buffer)
{
	ENTER(call, "ReportIScsiInitiatorListW");
	static const WCHAR list[] = INSTANCE L"\0";
	return put_list(&call, list, sizeof list / sizeof *list, BufferSize, Buffer, control_is(&call.control, "sizes", "observed"));
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-reportiscsitargetportalsw
//
// ElementCount "specifies the number of portals currently reported for the specified target": also when they do not fit.
API ReportIScsiTargetPortalsW(PWSTR InitiatorName, PWSTR TargetName, PUSHORT TargetPortalTag, PULONG ElementCount,
	ISCSI_TARGET_PORTALW *Portals)
{
	ENTER(call, "ReportIScsiTargetPortalsW");
	ISDSC_STATUS status = check_name(&call, TargetName, "TargetName");
	DISCOVERY *one;
	ULONG count = 0, room;
	if (status == ERROR_SUCCESS && InitiatorName && !is_readable(InitiatorName, sizeof(WCHAR)))
		status = refuse(&call, ERROR_INVALID_PARAMETER, "InitiatorName is no string");
	if (status == ERROR_SUCCESS && TargetPortalTag && !is_readable(TargetPortalTag, sizeof *TargetPortalTag))
		status = refuse(&call, ERROR_INVALID_PARAMETER, "TargetPortalTag is no USHORT");
	if (status == ERROR_SUCCESS && !is_writable(ElementCount, sizeof *ElementCount))
		status = refuse(&call, ERROR_INVALID_PARAMETER, "ElementCount is no ULONG");
	if (status != ERROR_SUCCESS)
		return leave(&call, status, "refused");
	if (!discovered(call.state, TargetName))
		return leave(&call, ISDSC_TARGET_NOT_FOUND, "%ls", TargetName);
	FOR_LIST (one, call.state->discoveries)
		count += one->used && one->portal.Address[0] && !_wcsicmp(one->target, TargetName);
	room = Portals ? *ElementCount : 0;
	if (Portals && !is_writable(Portals, (SIZE_T)room * sizeof *Portals))
		return leave(&call, refuse(&call, ERROR_INVALID_PARAMETER, "Portals has no %lu elements", room), "refused");
	*ElementCount = count;
	if (count > room)
		return leave(&call, ERROR_INSUFFICIENT_BUFFER, "room=%lu of %lu", room, count);
	FOR_LIST (one, call.state->discoveries)
		if (one->used && one->portal.Address[0] && !_wcsicmp(one->target, TargetName))
			*Portals++ = one->portal;
	return leave(&call, ERROR_SUCCESS, "%ls: %lu", TargetName, count);
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-addiscsistatictargetw
API AddIScsiStaticTargetW(PWSTR TargetName, PWSTR Alias, ULONG Flags, BOOLEAN Persist, ISCSI_TARGET_MAPPINGW *Mappings,
	ISCSI_LOGIN_OPTIONS *Options, ISCSI_TARGET_PORTAL_GROUPW *Group)
{
	ENTER(call, "AddIScsiStaticTargetW");
	OPTIONS options;
	ISDSC_STATUS status = check_name(&call, TargetName, "TargetName");
	if (status == ERROR_SUCCESS && Alias && (!is_readable(Alias, sizeof(WCHAR)) || wcsnlen(Alias, 256) > MAX_ISCSI_ALIAS_LEN))
		status = refuse(&call, ERROR_INVALID_PARAMETER, "TargetAlias is no alias");
	if (status == ERROR_SUCCESS && Flags & ~(ISCSI_TARGET_FLAG_HIDE_STATIC_TARGET | ISCSI_TARGET_FLAG_MERGE_TARGET_INFORMATION))
		status = refuse(&call, ERROR_INVALID_PARAMETER, "TargetFlags is 0x%lX", Flags);
	if (status == ERROR_SUCCESS && Mappings && !is_readable(Mappings, sizeof *Mappings))
		status = refuse(&call, ERROR_INVALID_PARAMETER, "Mappings is no ISCSI_TARGET_MAPPING");
	if (status == ERROR_SUCCESS && Group && (!is_readable(Group, sizeof *Group) || Group->Count == 0))
		status = refuse(&call, ERROR_INVALID_PARAMETER, "PortalGroup is no group of portals");
	if (status == ERROR_SUCCESS)
		status = check_options(&call, Options, &options);
	if (status != ERROR_SUCCESS)
		return leave(&call, status, "refused");
	DISCOVERY *one, *chosen = NULL;
	FOR_LIST (one, call.state->discoveries) {
		if (one->used && one->is_static && !_wcsicmp(one->target, TargetName)) {
			chosen = one;
			break;
		}
		if (!one->used && !chosen)
			chosen = one;
	}
	if (!chosen)
		return leave(&call, ERROR_OUTOFMEMORY, "%ls", TargetName);
	if (!chosen->used || !(Flags & ISCSI_TARGET_FLAG_MERGE_TARGET_INFORMATION))
		ZeroMemory(chosen, sizeof *chosen);
	chosen->used = chosen->is_static = TRUE;
	chosen->flags = Flags & ISCSI_TARGET_FLAG_HIDE_STATIC_TARGET;
	wcscpy(chosen->target, TargetName);
	if (Alias)
		wcscpy(chosen->alias, Alias);
	if (Group)
		chosen->portal = Group->Portals[0];
	return leave(&call, ERROR_SUCCESS, "%ls persist=%u", TargetName, Persist);
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-removeiscsistatictargetw
API RemoveIScsiStaticTargetW(PWSTR TargetName)
{
	ENTER(call, "RemoveIScsiStaticTargetW");
	ISDSC_STATUS status = check_name(&call, TargetName, "TargetName");
	if (status != ERROR_SUCCESS)
		return leave(&call, status, "refused");
	DISCOVERY *one;
	status = ISDSC_TARGET_NOT_FOUND;
	FOR_LIST (one, call.state->discoveries)
		if (one->used && one->is_static && !_wcsicmp(one->target, TargetName)) {
			one->used = FALSE;
			status = ERROR_SUCCESS;
		}
	return leave(&call, status, "%ls", TargetName);
}
