// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "control.h"

enum { SHARE_ALL = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE };

char *file_read(const WCHAR *path)
{
	DWORD size = 0, got = 0;
	HANDLE file = CreateFileW(path, GENERIC_READ, SHARE_ALL, NULL, OPEN_EXISTING, 0, NULL);
	if (file != INVALID_HANDLE_VALUE)
		size = GetFileSize(file, NULL);
	char *text = calloc(1, (size_t)size + 1);
	if (file != INVALID_HANDLE_VALUE) {
		ReadFile(file, text, size, &got, NULL);
		CloseHandle(file);
	}
	text[got] = 0;
	return text;
}

static void write_text(const WCHAR *path, DWORD access, DWORD disposition, const char *text)
{
	DWORD written;
	HANDLE file = CreateFileW(path, access, SHARE_ALL, NULL, disposition, 0, NULL);
	if (file == INVALID_HANDLE_VALUE)
		return;
	WriteFile(file, text, (DWORD)strlen(text), &written, NULL);
	CloseHandle(file);
}

void file_write(const WCHAR *path, const char *text) { write_text(path, GENERIC_WRITE, CREATE_ALWAYS, text); }

void file_append(const WCHAR *path, const char *text) { write_text(path, FILE_APPEND_DATA, OPEN_ALWAYS, text); }

WCHAR *widen(const char *text)
{
	int size = MultiByteToWideChar(CP_UTF8, 0, text, -1, NULL, 0);
	WCHAR *wide = calloc((size_t)size + 1, sizeof *wide);
	MultiByteToWideChar(CP_UTF8, 0, text, -1, wide, size);
	return wide;
}

static void split_line(LINE *line)
{
	char *place = line->split = _strdup(line->text);
	for (line->words = 0; line->words < MAX_WORDS; line->words++) {
		place += strspn(place, " \t");
		if (!*place || *place == '#')
			break;
		line->word[line->words] = place;
		place += strcspn(place, " \t");
		if (*place)
			*place++ = 0;
		line->wide[line->words] = widen(line->word[line->words]);
	}
}

static void forget_words(LINE *line)
{
	for (int i = 0; i < line->words; i++)
		free(line->wide[i]);
	line->words = 0;
}

void control_load(CONTROL *control, const WCHAR *path)
{
	ZeroMemory(control, sizeof *control);
	lstrcpynW(control->path, path, MAX_PATH);
	char *rest = control->text = file_read(path);
	for (char *text; *(text = rest + strspn(rest, "\r\n"));) {
		rest = text + strcspn(text, "\r\n");
		if (*rest)
			*rest++ = 0;
		control->lines = realloc(control->lines, ((size_t)control->count + 1) * sizeof(LINE));
		LINE *line = &control->lines[control->count++];
		ZeroMemory(line, sizeof *line);
		line->text = text;
		split_line(line);
	}
}

void control_free(CONTROL *control)
{
	for (int i = 0; i < control->count; i++) {
		forget_words(&control->lines[i]);
		free(control->lines[i].split);
	}
	free(control->lines);
	free(control->text);
	control->lines = NULL;
	control->text = NULL;
	control->count = 0;
}

LINE *control_find(const CONTROL *control, const LINE *after, const char *keyword)
{
	for (int i = after ? (int)(after - control->lines) + 1 : 0; i < control->count; i++) {
		LINE *line = &control->lines[i];
		if (line->words > 1 && !strcmp(line->word[0], keyword))
			return line;
	}
	return NULL;
}

BOOL control_is(const CONTROL *control, const char *keyword, const char *value)
{
	for (const LINE *line = control_find(control, NULL, keyword); line; line = control_find(control, line, keyword))
		if (!strcmp(line->word[1], value))
			return TRUE;
	return FALSE;
}

void control_change(CONTROL *control, LINE *line, const char *text)
{
	forget_words(line);
	if (text)
		line->text = text;
	else
		line->gone = TRUE;
	size_t size = 1;
	for (int i = 0; i < control->count; i++)
		size += strlen(control->lines[i].text) + 2;
	char *all = calloc(1, size);
	for (int i = 0; i < control->count; i++)
		if (!control->lines[i].gone)
			strcat(strcat(all, control->lines[i].text), "\r\n");
	file_write(control->path, all);
	free(all);
}

// concerns reports whether a line "KEYWORD NAME … [on OBJECT]" is about a call.
static BOOL concerns(const LINE *line, const char *name, const char *object)
{
	if (strcmp(line->word[1], name))
		return FALSE;
	for (int i = 2; i + 1 < line->words; i++)
		if (!strcmp(line->word[i], "on"))
			return !strcmp(line->word[i + 1], object);
	return TRUE;
}

BOOL control_answer(CONTROL *control, const char *keyword, const char *name, const char *object, ULONG *answer)
{
	for (LINE *line = control_find(control, NULL, keyword); line; line = control_find(control, line, keyword)) {
		if (line->words < 3 || !concerns(line, name, object))
			continue;
		*answer = strtoul(line->word[2], NULL, 0);
		if (!strcmp(keyword, "once") || !strcmp(keyword, "lost") || !strcmp(keyword, "empty"))
			control_change(control, line, NULL);
		return TRUE;
	}
	return FALSE;
}

void control_after(CONTROL *control, const char *name)
{
	for (LINE *line = control_find(control, NULL, "after"); line; line = control_find(control, line, "after")) {
		if (line->words < 3 || strcmp(line->word[1], name))
			continue;
		const char *rest = strstr(line->text, name) + strlen(name);
		control_change(control, line, rest + strspn(rest, " \t"));
		return;
	}
}
