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

static const wchar_t *path_of(const wchar_t *name, wchar_t path[MAX_PATH + 32])
{
	_snwprintf(path, MAX_PATH + 32, L"%ls%ls", directory, name);
	return path;
}

// Returns the whole file, ended by a zero; the caller frees it. A file that does not exist is empty.
char *read_file(const wchar_t *name)
{
	wchar_t path[MAX_PATH + 32];
	return file_read(path_of(name, path));
}

void write_file(const wchar_t *name, const char *text)
{
	wchar_t path[MAX_PATH + 32];
	file_write(path_of(name, path), text);
}

// Reads what a test orders.
void read_control(CONTROL *control)
{
	wchar_t path[MAX_PATH + 32];
	control_load(control, path_of(L"control.txt", path));
}

static void append(const wchar_t *name, const wchar_t *format, va_list arguments)
{
	wchar_t line[2048], path[MAX_PATH + 32];
	char narrow[6 * 2048];
	int length = _vsnwprintf(line, sizeof line / sizeof *line - 2, format, arguments);
	if (length < 0 || length > (int)(sizeof line / sizeof *line) - 2)
		length = sizeof line / sizeof *line - 2;
	line[length++] = L'\n';
	line[length++] = 0;
	WideCharToMultiByte(CP_UTF8, 0, line, length, narrow, sizeof narrow, NULL, NULL);
	file_append(path_of(name, path), narrow);
}

// record writes down a call, so that a test can tell which were made.
void record(const wchar_t *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	append(L"calls.txt", format, arguments);
	va_end(arguments);
}

// violation writes down that the caller did what the documentation forbids, or what this fake cannot answer.
void violation(const wchar_t *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	append(L"violations.txt", format, arguments);
	va_end(arguments);
}
