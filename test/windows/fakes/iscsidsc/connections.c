// SPDX-License-Identifier: Apache-2.0
//
// The connections of sessions, and the list of both.
#include <string.h>

#include "fake.h"

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-addiscsiconnectionw
//
// A target allows one connection of a session, or what "connections TARGET NUMBER" says.
API AddIScsiConnectionW(ISCSI_UNIQUE_ID *UniqueSessionId, PVOID Reserved, ULONG InitiatorPortNumber,
	ISCSI_TARGET_PORTALW *TargetPortal, ULONGLONG SecurityFlags, ISCSI_LOGIN_OPTIONS *Options, ULONG KeySize, PCHAR Key,
	ISCSI_UNIQUE_ID *ConnectionId)
{
	ENTER(call, "AddIScsiConnectionW");
	OPTIONS options;
	ISDSC_STATUS status = check_portal(&call, TargetPortal, "TargetPortal");
	if (status == ERROR_SUCCESS && Reserved)
		status = refuse(&call, ERROR_INVALID_PARAMETER, "Reserved is not null");
	if (status == ERROR_SUCCESS)
		status = check_security(&call, SecurityFlags);
	if (status == ERROR_SUCCESS)
		status = check_options(&call, Options, &options);
	if (status == ERROR_SUCCESS)
		status = check_key(&call, KeySize, Key);
	if (status == ERROR_SUCCESS && ConnectionId && !is_writable(ConnectionId, sizeof *ConnectionId))
		status = refuse(&call, ERROR_INVALID_PARAMETER, "ConnectionId is no identifier");
	SESSION *session = status == ERROR_SUCCESS ? session_find(&call, UniqueSessionId, &status) : NULL;
	if (!session)
		return leave(&call, status, "refused, port %lu", InitiatorPortNumber);
	const LINE *line = line_about(&call, NULL, "connections", session->target);
	ULONG most = line && line->words > 2 ? number(line->word[2]) : 1;
	if (session->connections >= (most < MAX_CONNECTIONS ? most : MAX_CONNECTIONS))
		return leave(&call, ISDSC_TOO_MANY_CONNECTIONS, "%ls", session->target);
	status = portal_answers(&call, TargetPortal);
	if (status == ERROR_SUCCESS)
		status = authenticate(&call, "chap", session->target, &options, SecurityFlags);
	if (status != ERROR_SUCCESS)
		return leave(&call, status, "%ls", session->target);
	CONNECTION *connection = &session->connection[session->connections++];
	connection->id = ++call.state->next_id;
	connection->portal = *TargetPortal;
	if (ConnectionId)
		*ConnectionId = unique(connection->id);
	return leave(&call, ERROR_SUCCESS, "%ls", session->target);
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-removeiscsiconnection
//
// It "will not remove the last connection of a session or the leading connection of a session".
API RemoveIScsiConnection(ISCSI_UNIQUE_ID *UniqueSessionId, ISCSI_UNIQUE_ID *ConnectionId)
{
	ENTER(call, "RemoveIScsiConnection");
	ISDSC_STATUS status;
	SESSION *session = session_find(&call, UniqueSessionId, &status);
	if (!session)
		return leave(&call, status, "unknown");
	if (!is_readable(ConnectionId, sizeof *ConnectionId))
		return leave(&call, refuse(&call, ERROR_INVALID_PARAMETER, "ConnectionId is no identifier"), "refused");
	for (ULONG i = 0; i < session->connections; i++) {
		if (!is_unique(ConnectionId, session->connection[i].id))
			continue;
		if (session->connections == 1)
			return leave(&call, ISDSC_CANT_REMOVE_LAST_CONNECTION, "%ls", session->target);
		if (i == 0)
			return leave(&call, ISDSC_CANNOT_REMOVE_LEADING_CONNECTION, "%ls", session->target);
		session->connection[i] = session->connection[--session->connections];
		return leave(&call, ERROR_SUCCESS, "%ls", session->target);
	}
	return leave(&call, ISDSC_INVALID_CONNECTION_ID, "%ls", session->target);
}

// put_text puts a string behind the structures of a list.
static PWSTR put_text(WCHAR **place, const WCHAR *text)
{
	PWSTR put = *place;
	wcscpy(put, text);
	*place += wcslen(text) + 1;
	return put;
}

static SIZE_T bytes(const WCHAR *text)
{
	return (wcslen(text) + 1) * sizeof(WCHAR);
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-getiscsisessionlistw
//
// The sessions are contiguous; connections and strings stand behind them, in the same buffer. The page promises the size with
// ERROR_INSUFFICIENT_BUFFER. On some Windows it is more than what is used (go-win-iscsidsc): here too.
API GetIScsiSessionListW(PULONG BufferSize, PULONG SessionCount, ISCSI_SESSION_INFOW *SessionInfo)
{
	ENTER(call, "GetIScsiSessionListW");
	static const WCHAR from[] = L"0.0.0.0";
	const SIZE_T spare = 16;
	WCHAR node[MAX_ISCSI_NAME_LEN + 1];
	SESSION *session;
	ULONG count = 0, connections = 0;
	SIZE_T needed = 0;
	if (!is_writable(BufferSize, sizeof *BufferSize) || !is_writable(SessionCount, sizeof *SessionCount))
		return leave(&call, refuse(&call, ERROR_INVALID_PARAMETER, "BufferSize or SessionCount is no ULONG"), "refused");
	ULONG room = SessionInfo ? *BufferSize : 0;
	if (SessionInfo && !is_writable(SessionInfo, room))
		return leave(&call, refuse(&call, ERROR_INVALID_PARAMETER, "SessionInfo has no %lu bytes", room), "refused");
	node_name(call.state, node);
	FOR_LIST (session, call.state->sessions) {
		if (!session->used)
			continue;
		count++;
		connections += session->connections;
		needed += sizeof *SessionInfo + bytes(node) + 2 * bytes(session->target) + spare;
		for (ULONG i = 0; i < session->connections; i++)
			needed += sizeof *SessionInfo->Connections + sizeof from + bytes(session->connection[i].portal.Address);
	}
	*BufferSize = (ULONG)needed;
	if (needed > room)
		return leave(&call, ERROR_INSUFFICIENT_BUFFER, "room=%lu of %lu", room, (ULONG)needed);
	FillMemory(SessionInfo, room, 0xAB);
	ISCSI_CONNECTION_INFOW *connection = (ISCSI_CONNECTION_INFOW *)(SessionInfo + count);
	WCHAR *text = (WCHAR *)(connection + connections);
	FOR_LIST (session, call.state->sessions) {
		if (!session->used)
			continue;
		ZeroMemory(SessionInfo, sizeof *SessionInfo);
		SessionInfo->SessionId = unique(session->id);
		SessionInfo->InitiatorName = put_text(&text, node);
		SessionInfo->TargetNodeName = put_text(&text, session->target);
		SessionInfo->TargetName = put_text(&text, session->target);
		SessionInfo->ISID[0] = 0x40;
		SessionInfo->TSID[0] = (UCHAR)session->id;
		SessionInfo->ConnectionCount = session->connections;
		SessionInfo->Connections = connection;
		for (ULONG i = 0; i < session->connections; i++, connection++) {
			const CONNECTION *one = &session->connection[i];
			ZeroMemory(connection, sizeof *connection);
			connection->ConnectionId = unique(one->id);
			connection->InitiatorAddress = put_text(&text, from);
			connection->TargetAddress = put_text(&text, one->portal.Address);
			connection->InitiatorSocket = (USHORT)(49152 + one->id % 16384);
			connection->TargetSocket = one->portal.Socket;
			connection->CID[0] = (UCHAR)(i + 1);
		}
		SessionInfo++;
	}
	*SessionCount = count;
	return leave(&call, ERROR_SUCCESS, "room=%lu of %lu", room, (ULONG)needed);
}
