// SPDX-License-Identifier: Apache-2.0

// The sizes of a node's volumes and shares. Wine would answer with those of Linux's file system; the agent knows them.

#include <stdio.h>

#include "links.h"

space_function old_space;

// ask reads the bytes available and in all of what is mounted at a path, or of what a link there leads to.
static BOOL ask(const WCHAR *path, ULARGE_INTEGER *available, ULARGE_INTEGER *total)
{
	WCHAR command[2 * MAX_PATH];
	static const WCHAR line[] = L"Z:\\binaries\\csi-proxyctl.exe fs usage \"%ls\" -o jsonpath={.availableBytes}/{.totalBytes} 2>nul";
	_snwprintf(command, ARRAYSIZE(command), line, path);
	FILE *answer = _wpopen(command, L"r");
	const BOOL known = answer && fscanf(answer, "%llu/%llu", &available->QuadPart, &total->QuadPart) == 2;
	return answer && _pclose(answer) == 0 && known;
}

// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-getdiskfreespaceexw
BOOL WINAPI links_space(const WCHAR *directory, ULARGE_INTEGER *available, ULARGE_INTEGER *total, ULARGE_INTEGER *free)
{
	WCHAR path[MAX_PATH];
	ULARGE_INTEGER left, all;
	DWORD length = directory ? GetFullPathNameW(directory, ARRAYSIZE(path), path, NULL) : 0;
	for (; length > 3 && length < ARRAYSIZE(path); path[length] = 0) { // upwards, to what is mounted
		if (path[length - 1] != '\\' && ask(path, &left, &all)) {
			*(available ? available : &left) = left;
			*(free ? free : &left) = left;
			*(total ? total : &all) = all;
			return TRUE;
		}
		while (length > 3 && path[--length] != '\\')
			;
	}
	return old_space(directory, available, total, free);
}
