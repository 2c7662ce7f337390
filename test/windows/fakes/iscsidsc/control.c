// SPDX-License-Identifier: Apache-2.0
//
// control.txt: what a test says about the world and what it injects. README.md lists the lines.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

#define CONTROL L"C:\\iscsidsc-fake\\control.txt"

static void split(LINE *line)
{
	static const WCHAR blanks[] = L" \t";
	int size = MultiByteToWideChar(CP_UTF8, 0, line->text, -1, NULL, 0);
	WCHAR *wide = malloc(size * sizeof(WCHAR)), *place = wide;
	MultiByteToWideChar(CP_UTF8, 0, line->text, -1, wide, size);
	line->words = 0;
	for (; line->words < MAX_WORDS; line->words++) {
		place += wcsspn(place, blanks);
		if (!*place || *place == L'#')
			break;
		line->word[line->words] = place;
		place += wcscspn(place, blanks);
		if (*place)
			*place++ = 0;
	}
	if (line->words == 0) {
		free(wide);
		line->word[0] = NULL;
	} else if (line->word[0] != wide) { // word[0] owns the memory
		size_t shift = line->word[0] - wide;
		memmove(wide, line->word[0], (size - shift) * sizeof(WCHAR));
		for (int i = 0; i < line->words; i++)
			line->word[i] -= shift;
	}
}

void control_load(CALL *call)
{
	DWORD size, got = 0;
	HANDLE file = CreateFileW(CONTROL, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
		OPEN_EXISTING, 0, NULL);
	call->lines = NULL;
	call->count = 0;
	call->text = NULL;
	if (file == INVALID_HANDLE_VALUE)
		return;
	size = GetFileSize(file, NULL);
	call->text = calloc(1, size + 1);
	ReadFile(file, call->text, size, &got, NULL);
	CloseHandle(file);
	for (char *text = strtok(call->text, "\r\n"); text; text = strtok(NULL, "\r\n")) {
		call->lines = realloc(call->lines, (call->count + 1) * sizeof(LINE));
		call->lines[call->count].text = text;
		split(&call->lines[call->count++]);
	}
}

void control_free(CALL *call)
{
	for (int i = 0; i < call->count; i++)
		free(call->lines[i].word[0]);
	free(call->lines);
	free(call->text);
	call->lines = NULL;
	call->text = NULL;
	call->count = 0;
}

// is reports whether a word is an ASCII text.
static BOOL is(const WCHAR *word, const char *text)
{
	while (*text && *word == (WCHAR)(unsigned char)*text)
		word++, text++;
	return !*word && !*text;
}

// control_find returns the next line after another (NULL: the first) with a keyword and, unless it is NULL, a first
// argument, in any case of letters: iSCSI names are compared like this.
const LINE *control_find(const CALL *call, const LINE *after, const char *keyword, const WCHAR *first)
{
	for (const LINE *line = after ? after + 1 : call->lines; line < call->lines + call->count; line++)
		if (line->words > 1 && is(line->word[0], keyword) && (!first || !_wcsicmp(line->word[1], first)))
			return line;
	return NULL;
}

ULONG number(const WCHAR *word)
{
	return wcstoul(word, NULL, 0);
}

BOOL control_is(const CALL *call, const char *keyword, const WCHAR *value)
{
	return control_find(call, NULL, keyword, value) != NULL;
}

// store writes the control file without one line, or with another text in its place.
static void store(const CALL *call, const LINE *changed, const char *text)
{
	DWORD written;
	HANDLE file = CreateFileW(CONTROL, GENERIC_WRITE, FILE_SHARE_READ, NULL, CREATE_ALWAYS, 0, NULL);
	for (const LINE *line = call->lines; line < call->lines + call->count; line++) {
		const char *out = line == changed ? text : line->text;
		if (!out)
			continue;
		WriteFile(file, out, (DWORD)strlen(out), &written, NULL);
		WriteFile(file, "\r\n", 2, &written, NULL);
	}
	CloseHandle(file);
}

// control_answer returns the number of a line "KEYWORD FUNCTION NUMBER", or 0. Lines with once and lost serve one call.
ULONG control_answer(CALL *call, const char *keyword, const char *function)
{
	for (const LINE *line = control_find(call, NULL, keyword, NULL); line; line = control_find(call, line, keyword, NULL)) {
		if (line->words < 3 || !is(line->word[1], function))
			continue;
		ULONG answer = number(line->word[2]);
		if (!strcmp(keyword, "once") || !strcmp(keyword, "lost")) {
			store(call, line, NULL);
			control_free(call);
			control_load(call);
		}
		return answer;
	}
	return 0;
}

static void portal_of(const LINE *line, int word, ISCSI_TARGET_PORTALW *portal)
{
	ZeroMemory(portal, sizeof *portal);
	lstrcpynW(portal->Address, line->word[word], MAX_ISCSI_PORTAL_ADDRESS_LEN);
	portal->Socket = (USHORT)number(line->word[word + 1]);
}

// control_events applies the lines that tell what another program did, each once: "registered ADDRESS SOCKET",
// "session TARGET ADDRESS SOCKET" and "login TARGET ADDRESS SOCKET".
void control_events(CALL *call)
{
	for (int i = 0; i < call->count;) {
		const LINE *line = &call->lines[i];
		ISCSI_TARGET_PORTALW portal;
		if (line->words == 3 && is(line->word[0], "registered")) {
			portal_of(line, 1, &portal);
			portal_add(call, L"", ISCSI_ANY_INITIATOR_PORT, &portal);
		} else if (line->words == 4 && is(line->word[0], "session")) {
			portal_of(line, 2, &portal);
			session_new(call->state, line->word[1], &portal);
		} else if (line->words == 4 && is(line->word[0], "login")) {
			portal_of(line, 2, &portal);
			login_add(call, line->word[1], &portal);
		} else {
			i++;
			continue;
		}
		store(call, line, NULL);
		control_free(call);
		control_load(call);
	}
}

// control_after lets the line of the first "after FUNCTION LINE" hold, once its function was called.
void control_after(CALL *call)
{
	for (const LINE *line = control_find(call, NULL, "after", NULL); line; line = control_find(call, line, "after", NULL)) {
		if (line->words < 3 || !is(line->word[1], call->function))
			continue;
		const char *rest = strstr(line->text, call->function) + strlen(call->function);
		store(call, line, rest + strspn(rest, " \t"));
		control_free(call);
		control_load(call);
		break;
	}
}
