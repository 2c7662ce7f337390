// SPDX-License-Identifier: Apache-2.0
//
// What the mount manager keeps of mounted folders: mounts.txt, lines of a volume's name, a blank and a folder.
#include "fake.h"

#define MOUNTS FOLDER L"mounts.txt"

// mount_records returns the mount manager's records, to be freed.
WCHAR *mount_records(void)
{
	DWORD got = 0;
	char *text = calloc(1, RECORDS_MOST);
	WCHAR *wide = calloc(RECORDS_MOST, sizeof *wide);
	HANDLE file = CreateFileW(MOUNTS, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, 0, NULL);
	if (file != INVALID_HANDLE_VALUE) {
		ReadFile(file, text, RECORDS_MOST - 1, &got, NULL);
		CloseHandle(file);
	}
	MultiByteToWideChar(CP_UTF8, 0, text, -1, wide, RECORDS_MOST);
	free(text);
	return wide;
}

// mount_record adds a record, or removes it.
void mount_record(const WCHAR *volume, const WCHAR *path, BOOL is_mounted)
{
	WCHAR full[NAME_MOST], *line = calloc(RECORDS_MOST, sizeof *line), *text = mount_records(), *at;
	char *out = calloc(4, RECORDS_MOST);
	DWORD written;
	GetFullPathNameW(path, ARRAYSIZE(full), full, NULL);
	_snwprintf(line, RECORDS_MOST, L"%ls %ls\r\n", volume, wcsncmp(full, L"\\\\?\\", 4) ? full : full + 4);
	const size_t length = wcslen(line);
	for (at = text; *at && _wcsnicmp(at, line, length);)
		at = (at = wcschr(at, '\n')) ? at + 1 : text + wcslen(text);
	if (*at)
		memmove(at, at + length, (wcslen(at + length) + 1) * sizeof *at);
	if (is_mounted && wcslen(text) + length < RECORDS_MOST)
		wcscat(text, line);
	HANDLE file = CreateFileW(MOUNTS, GENERIC_WRITE, FILE_SHARE_READ, NULL, CREATE_ALWAYS, 0, NULL);
	const int size = WideCharToMultiByte(CP_UTF8, 0, text, -1, out, 4 * RECORDS_MOST, NULL, NULL);
	WriteFile(file, out, size - 1, &written, NULL);
	CloseHandle(file);
	free(line);
	free(text);
	free(out);
}
