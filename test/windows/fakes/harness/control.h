// SPDX-License-Identifier: Apache-2.0
//
// The files of a fake: control.txt, in which a test says what the world is like and what it injects, and the logs. README.md lists the lines of each.
#ifndef FAKES_CONTROL_H
#define FAKES_CONTROL_H

#include <windows.h>

enum { MAX_WORDS = 64 };

// A LINE is a line of control.txt in words.
typedef struct {
	int words;
	char *word[MAX_WORDS];
	WCHAR *wide[MAX_WORDS]; // the same words
	const char *text;       // as it stands in the file
	char *split;            // what the words point into
	BOOL gone;              // from the file
} LINE;

typedef struct {
	WCHAR path[MAX_PATH];
	char *text;
	LINE *lines;
	int count;
} CONTROL;

void control_load(CONTROL *control, const WCHAR *path);
void control_free(CONTROL *control);

// control_find returns the next line after another (NULL: the first) with a keyword and an argument.
LINE *control_find(const CONTROL *control, const LINE *after, const char *keyword);
BOOL control_is(const CONTROL *control, const char *keyword, const char *value);

// control_change writes the file without one line, or with another text in its place, which holds from the next call on.
void control_change(CONTROL *control, LINE *line, const char *text);

// control_answer reports whether there is a line "KEYWORD NAME NUMBER [on OBJECT]". Lines with once, lost and empty serve one call.
BOOL control_answer(CONTROL *control, const char *keyword, const char *name, const char *object, ULONG *answer);

// control_after lets the line of the first "after NAME LINE" hold, once such a call was made.
void control_after(CONTROL *control, const char *name);

char *file_read(const WCHAR *path); // ended by a zero; empty without a file
void file_write(const WCHAR *path, const char *text);
void file_append(const WCHAR *path, const char *text);
WCHAR *widen(const char *text); // UTF-8

#endif
