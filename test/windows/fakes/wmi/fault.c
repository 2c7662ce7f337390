// SPDX-License-Identifier: Apache-2.0
//
// What the control file wmi.control orders: README.md lists its lines.

#include "wmi.h"

#include <stdio.h>

#define CONTROL L"wmi.control"
#define WORDS 5

// Splits the next line of *rest into words at its blanks and returns their number; -1 after the last line.
static int next_line(char **rest, char *words[WORDS])
{
	char *line = *rest;
	int count = 0;
	if (!*line)
		return -1;
	char *end = line + strcspn(line, "\n");
	*rest = *end ? end + 1 : end;
	*end = 0;
	for (char *word = strtok(line, " \t\r"); word && count < WORDS; word = strtok(NULL, " \t\r"))
		words[count++] = word;
	return count;
}

static bool same(const char *word, const wchar_t *text)
{
	wchar_t *wide = widen(word);
	bool result = _wcsicmp(wide, text) == 0;
	free(wide);
	return result;
}

// Finds the line "KIND SUBJECT VALUE [TIMES]" and returns whether there is one. A line with TIMES is used up.
static bool order(const char *kind, const wchar_t *subject, char *value, size_t size)
{
	HANDLE lock = lock_files();
	char *text = read_file(CONTROL), *rest = text, *words[WORDS];
	char *kept = calloc(strlen(text) + 64, 1);
	bool found = false, changed = false;
	for (int count; (count = next_line(&rest, words)) >= 0;) {
		bool match = !found && count >= 2 && strcmp(words[0], kind) == 0 && same(words[1], subject);
		unsigned long times = match && count >= 4 ? strtoul(words[3], NULL, 10) : 0;
		if (match) {
			found = true;
			if (value)
				snprintf(value, size, "%s", count >= 3 ? words[2] : "");
		}
		if (match && count >= 4) {
			changed = true;
			if (times > 1)
				sprintf(kept + strlen(kept), "%s %s %s %lu\n", words[0], words[1], words[2], times - 1);
			continue;
		}
		for (int i = 0; i < count; i++)
			sprintf(kept + strlen(kept), "%s%s", words[i], i == count - 1 ? "\n" : " ");
	}
	if (changed)
		write_file(CONTROL, kept);
	unlock_files(lock);
	free(kept);
	free(text);
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
	char *text = read_file(CONTROL), *rest = text, *words[WORDS];
	unlock_files(lock);
	const wchar_t *slash = wcschr(path + 2, L'\\');
	bool found = false;
	*server_known = false;
	for (int count; !found && (count = next_line(&rest, words)) >= 0;) {
		if (count < 2 || strcmp(words[0], "share"))
			continue;
		wchar_t *share = widen(words[1]);
		size_t server = slash ? (size_t)(slash - path) + 1 : wcslen(path);
		size_t length = wcslen(share);
		if (_wcsnicmp(share, path, server) == 0)
			*server_known = true;
		// A mapping may name a folder below the share.
		if (_wcsnicmp(share, path, length) == 0 && (!path[length] || path[length] == L'\\')) {
			wchar_t *wide_user = widen(count >= 4 ? words[2] : ""), *wide_password = widen(count >= 4 ? words[3] : "");
			_snwprintf(user, size, L"%ls", wide_user);
			_snwprintf(password, size, L"%ls", wide_password);
			free(wide_user);
			free(wide_password);
			found = true;
		}
		free(share);
	}
	free(text);
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
	char *text = read_file(CONTROL), *rest = text, *words[WORDS];
	unlock_files(lock);
	for (int count; (count = next_line(&rest, words)) >= 0;) {
		wchar_t *wide[WORDS];
		if (count == 0 || strcmp(words[0], kind))
			continue;
		for (int i = 1; i < count; i++)
			wide[i - 1] = widen(words[i]);
		visit(wide, count - 1, argument);
		for (int i = 1; i < count; i++)
			free(wide[i - 1]);
	}
	free(text);
}
