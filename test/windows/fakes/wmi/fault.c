// SPDX-License-Identifier: Apache-2.0
//
// What the control file orders: ../README.md lists its lines.

#include "wmi.h"

#include <stdio.h>

// Returns the line "KIND SUBJECT …", NULL if there is none.
static LINE *about(const CONTROL *control, const char *kind, const wchar_t *subject)
{
	LINE *line = control_find(control, NULL, kind);
	while (line && _wcsicmp(line->wide[1], subject))
		line = control_find(control, line, kind);
	return line;
}

// Finds the line "KIND SUBJECT VALUE [TIMES]" and returns whether there is one. A line with TIMES is used up.
static bool order(const char *kind, const wchar_t *subject, char *value, size_t size)
{
	HANDLE lock = lock_files();
	CONTROL control;
	read_control(&control);
	LINE *line = about(&control, kind, subject);
	bool found = line != NULL;
	if (line && value)
		snprintf(value, size, "%s", line->words > 2 ? line->word[2] : "");
	if (line && line->words > 3) {
		unsigned long times = strtoul(line->word[3], NULL, 10);
		char left[512];
		snprintf(left, sizeof left, "%s %s %s %lu", line->word[0], line->word[1], line->word[2], times - 1);
		control_change(&control, line, times > 1 ? left : NULL);
	}
	control_free(&control);
	unlock_files(lock);
	return found;
}

// Starts a call: fails it if the control file says so, and sets when it will be complete.
HRESULT disturb(const wchar_t *call, struct wait *wait)
{
	char value[32];
	wait->call = call;
	wait->ready = GetTickCount64();
	wait->hung = order("hang", call, NULL, 0);
	if (order("slow", call, value, sizeof value))
		wait->ready += strtoul(value, NULL, 10);
	if (order("fail", call, value, sizeof value))
		return (HRESULT)strtoul(value, NULL, 16);
	return S_OK;
}

// Waits until a call is complete, at most the timeout in milliseconds, and returns WBEM_S_TIMEDOUT if it is not.
HRESULT wait_for(struct wait *wait, LONG timeout)
{
	ULONGLONG start = GetTickCount64();
	for (;;) {
		if (wait->hung)
			wait->hung = order("hang", wait->call, NULL, 0);
		ULONGLONG now = GetTickCount64();
		if (!wait->hung && now >= wait->ready)
			return S_OK;
		if (timeout != (LONG)WBEM_INFINITE && now - start >= (ULONGLONG)timeout)
			return WBEM_S_TIMEDOUT;
		Sleep(5);
	}
}

// Disturbs a synchronous call.
HRESULT disturbed(const wchar_t *call)
{
	struct wait wait;
	HRESULT result = disturb(call, &wait);
	wait_for(&wait, (LONG)WBEM_INFINITE);
	return result;
}

// The run of the service: connections that were made under another number are dead.
unsigned long generation(void)
{
	char value[32];
	return order("service", L"run", value, sizeof value) ? strtoul(value, NULL, 10) : 0;
}

bool service_lost(void)
{
	return order("service", L"lost", NULL, 0);
}

// The Windows code that "error CLASS.METHOD CODE [TIMES]" orders for a method; 0 for none.
DWORD ordered_error(const wchar_t *method)
{
	char value[32];
	return order("error", method, value, sizeof value) ? strtoul(value, NULL, 10) : 0;
}

enum failures failures(void)
{
	if (order("failures", L"return", NULL, 0))
		return FAILURE_RETURN;
	return order("failures", L"wbem", NULL, 0) ? FAILURE_WBEM : FAILURE_HRESULT;
}

// Finds the line "share \\SERVER\SHARE [USER PASSWORD]"; without a user, anybody may map the share.
bool find_share(const wchar_t *path, wchar_t *user, wchar_t *password, size_t size, bool *server_known)
{
	HANDLE lock = lock_files();
	CONTROL control;
	read_control(&control);
	unlock_files(lock);
	const wchar_t *slash = wcschr(path + 2, L'\\');
	bool found = false;
	*server_known = false;
	for (LINE *line = control_find(&control, NULL, "share"); line && !found; line = control_find(&control, line, "share")) {
		const wchar_t *share = line->wide[1];
		size_t server = slash ? (size_t)(slash - path) + 1 : wcslen(path);
		size_t length = wcslen(share);
		if (_wcsnicmp(share, path, server) == 0)
			*server_known = true;
		// A mapping may name a folder below the share.
		if (_wcsnicmp(share, path, length) == 0 && (!path[length] || path[length] == L'\\')) {
			_snwprintf(user, size, L"%ls", line->words > 3 ? line->wide[2] : L"");
			_snwprintf(password, size, L"%ls", line->words > 3 ? line->wide[3] : L"");
			found = true;
		}
	}
	control_free(&control);
	return found;
}

// Reports whether "open PATH" says that files are open through the mapping of PATH.
bool is_open(const wchar_t *path)
{
	return order("open", path, NULL, 0);
}

// Visits the words after KIND of each line that begins with it.
void each_fact(const char *kind, void (*visit)(wchar_t **words, int count, void *argument), void *argument)
{
	HANDLE lock = lock_files();
	CONTROL control;
	read_control(&control);
	unlock_files(lock);
	for (LINE *line = control_find(&control, NULL, kind); line; line = control_find(&control, line, kind))
		visit(line->wide + 1, line->words - 1, argument);
	control_free(&control);
}
