// SPDX-License-Identifier: Apache-2.0
//
// The files beside the DLL, UTF-8, one fact a line. Every process that loads the DLL sees the same ones, so several
// agents share one WMI as they do on Windows.

#include "wmi.h"

#include <stdarg.h>
#include <stdio.h>

static wchar_t directory[MAX_PATH];

void set_directory(HINSTANCE dll)
{
	GetModuleFileNameW(dll, directory, MAX_PATH);
	wchar_t *name = wcsrchr(directory, L'\\');
	if (name)
		name[1] = 0;
}

HANDLE lock_files(void)
{
	HANDLE mutex = CreateMutexW(NULL, FALSE, L"csi-proxy-fake-wmi");
	WaitForSingleObject(mutex, INFINITE);
	return mutex;
}

void unlock_files(HANDLE lock)
{
	ReleaseMutex(lock);
	CloseHandle(lock);
}

static HANDLE open_file(const wchar_t *name, DWORD access, DWORD disposition)
{
	wchar_t path[MAX_PATH + 32];
	_snwprintf(path, sizeof path / sizeof *path, L"%ls%ls", directory, name);
	return CreateFileW(path, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, disposition,
		FILE_ATTRIBUTE_NORMAL, NULL);
}

// Returns the whole file, ended by a zero; the caller frees it. A file that does not exist is empty.
char *read_file(const wchar_t *name)
{
	DWORD size = 0, got = 0;
	HANDLE file = open_file(name, GENERIC_READ, OPEN_EXISTING);
	if (file != INVALID_HANDLE_VALUE)
		size = GetFileSize(file, NULL);
	char *text = calloc(size + 1, 1);
	if (file != INVALID_HANDLE_VALUE) {
		ReadFile(file, text, size, &got, NULL);
		CloseHandle(file);
	}
	text[got] = 0;
	return text;
}

void write_file(const wchar_t *name, const char *text)
{
	DWORD written;
	HANDLE file = open_file(name, GENERIC_WRITE, CREATE_ALWAYS);
	WriteFile(file, text, (DWORD)strlen(text), &written, NULL);
	CloseHandle(file);
}

wchar_t *widen(const char *text)
{
	int size = MultiByteToWideChar(CP_UTF8, 0, text, -1, NULL, 0);
	wchar_t *wide = calloc(size + 1, sizeof *wide);
	MultiByteToWideChar(CP_UTF8, 0, text, -1, wide, size);
	return wide;
}

static void append(const wchar_t *name, const wchar_t *format, va_list arguments)
{
	wchar_t line[2048];
	char narrow[6 * 2048];
	DWORD written;
	int length = _vsnwprintf(line, sizeof line / sizeof *line - 2, format, arguments);
	if (length < 0 || length > (int)(sizeof line / sizeof *line) - 2)
		length = sizeof line / sizeof *line - 2;
	line[length++] = L'\n';
	int size = WideCharToMultiByte(CP_UTF8, 0, line, length, narrow, sizeof narrow, NULL, NULL);
	HANDLE file = open_file(name, FILE_APPEND_DATA, OPEN_ALWAYS);
	WriteFile(file, narrow, (DWORD)size, &written, NULL);
	CloseHandle(file);
}

// record writes down a call, so that a test can tell which were made.
void record(const wchar_t *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	append(L"wmi.calls", format, arguments);
	va_end(arguments);
}

// violation writes down that the caller did what the documentation forbids, or what this fake cannot answer.
void violation(const wchar_t *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	append(L"wmi.violations", format, arguments);
	va_end(arguments);
}
