// SPDX-License-Identifier: Apache-2.0

// The sizes of a node's volumes and shares. Wine would answer with those of Linux's file system; the agent knows them.

#include <stdio.h>

#include "links.h"

space_function old_space;

// ask reads the bytes available and in all of what is mounted at a path, or of what a link there leads to.
static BOOL ask(const WCHAR *path, ULARGE_INTEGER *available, ULARGE_INTEGER *total)
{
	WCHAR command[2 * MAX_PATH];
	static const WCHAR line[] = L"Z:\\binaries\\csi-proxyctl.exe fs usage \"%ls\" -o json 2>nul";
	_snwprintf(command, ARRAYSIZE(command), line, path);
	FILE *answer = _wpopen(command, L"r");
	static const char form[] = " { \"availableBytes\": %llu, \"inodes\": null, \"totalBytes\": %llu";
	const BOOL known = answer && fscanf(answer, form, &available->QuadPart, &total->QuadPart) == 2;
	return answer && _pclose(answer) == 0 && known;
}

// is_link_at tells whether the last name of a path on a drive is a link or mount point.
static BOOL is_link_at(const WCHAR *path)
{
	WCHAR text[MAX_PATH + 8];
	UNICODE_STRING name;
	OBJECT_ATTRIBUTES attributes;
	NTSTATUS status;
	_snwprintf(text, ARRAYSIZE(text), L"\\??\\%ls", wcsncmp(path, L"\\\\?\\", 4) ? path : path + 4);
	RtlInitUnicodeString(&name, text);
	InitializeObjectAttributes(&attributes, &name, OBJ_CASE_INSENSITIVE, NULL, NULL);
	struct way *w = resolve(&attributes, FALSE, &status);
	const BOOL link = w && is_link(w->attributes.RootDirectory, w->name.Buffer, w->name.Length / sizeof(WCHAR));
	if (w)
		forget(w);
	return link;
}

// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-getdiskfreespaceexw
BOOL WINAPI links_space(const WCHAR *directory, ULARGE_INTEGER *available, ULARGE_INTEGER *total, ULARGE_INTEGER *free)
{
	WCHAR path[MAX_PATH];
	ULARGE_INTEGER left, all;
	DWORD length = directory ? GetFullPathNameW(directory, ARRAYSIZE(path), path, NULL) : 0;
	if (length >= ARRAYSIZE(path))
		length = 0;
	for (; length > 3; path[length] = 0) { // upwards to a link: to ask the agent is to start a program
		if (path[length - 1] != '\\' && is_link_at(path))
			break;
		while (length > 3 && path[--length] != '\\')
			;
	}
	if (length <= 3 || !ask(path, &left, &all))
		return old_space(directory, available, total, free);
	*(available ? available : &left) = left;
	*(free ? free : &left) = left;
	*(total ? total : &all) = all;
	return TRUE;
}
