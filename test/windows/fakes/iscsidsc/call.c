// SPDX-License-Identifier: Apache-2.0
//
// What surrounds every call: the lock, the mapped state, injected answers, and the two logs.
#include <stdarg.h>
#include <stdio.h>

#include "fake.h"

#define FOLDER L"C:\\iscsidsc-fake\\"

static HANDLE lock;
static STATE *mapped;

// write_log appends a line to a file of the folder.
static void write_log(const WCHAR *file, const char *function, const char *format, va_list arguments, const char *end)
{
	char line[2048];
	int used = _snprintf(line, sizeof line - 40, "%s ", function);
	int more = _vsnprintf(line + used, sizeof line - 40 - used, format, arguments);
	used = more < 0 ? (int)sizeof line - 40 : used + more;
	_snprintf(line + used, sizeof line - used, "%s\r\n", end);
	file_append(file, line);
}

// map_state maps state.bin, which a first process fills with zeros. Without the folder no service runs.
static BOOL map_state(void)
{
	if (mapped)
		return TRUE;
	HANDLE file = CreateFileW(FOLDER L"state.bin", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
		OPEN_ALWAYS, 0, NULL);
	if (file == INVALID_HANDLE_VALUE)
		return FALSE;
	HANDLE mapping = CreateFileMappingW(file, NULL, PAGE_READWRITE, 0, sizeof(STATE), NULL);
	if (mapping)
		mapped = MapViewOfFile(mapping, FILE_MAP_ALL_ACCESS, 0, 0, sizeof(STATE));
	CloseHandle(file);
	return mapped != NULL;
}

// enter takes the lock, reads the control file, waits if it says so, and answers FALSE with a status in call if this
// call is to fail before it does anything.
BOOL enter(CALL *call, const char *function)
{
	ZeroMemory(call, sizeof *call);
	call->function = function;
	WaitForSingleObject(lock, INFINITE);
	if (!map_state()) {
		ReleaseMutex(lock);
		call->status = ISDSC_SERVICE_NOT_RUNNING;
		return FALSE;
	}
	call->state = mapped;
	control_load(&call->control, FOLDER L"control.txt");
	ULONG milliseconds = answer_to(call, "delay");
	if (milliseconds) {
		ReleaseMutex(lock);
		Sleep(milliseconds);
		WaitForSingleObject(lock, INFINITE);
		control_free(&call->control);
		control_load(&call->control, FOLDER L"control.txt");
	}
	control_events(call);
	call->status = answer_to(call, "once");
	if (!call->status)
		call->status = answer_to(call, "answer");
	if (!call->status)
		return TRUE;
	leave(call, call->status, "injected");
	return FALSE;
}

// leave records the call and its answer and gives the lock back. With the control line "lost" the caller learns
// another code than the one with which the call ended.
ISDSC_STATUS leave(CALL *call, ISDSC_STATUS status, const char *format, ...)
{
	va_list arguments;
	char end[40];
	if (status == ERROR_SUCCESS) {
		ULONG lost = answer_to(call, "lost");
		status = lost ? lost : status;
	}
	_snprintf(end, sizeof end, " = 0x%08lX", status);
	va_start(arguments, format);
	write_log(FOLDER L"calls.txt", call->function, format, arguments, end);
	va_end(arguments);
	control_after(&call->control, call->function);
	control_free(&call->control);
	ReleaseMutex(lock);
	return status;
}

// refuse records that the caller broke a rule of the function's page. The caller of refuse still leaves.
ISDSC_STATUS refuse(CALL *call, ISDSC_STATUS status, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	write_log(FOLDER L"violations.txt", call->function, format, arguments, "");
	va_end(arguments);
	return status;
}

static BOOL has_access(const void *memory, SIZE_T size, DWORD protections)
{
	const char *place = memory, *end = place + size;
	if (!memory || end < place)
		return FALSE;
	while (place < end) {
		MEMORY_BASIC_INFORMATION region;
		if (!VirtualQuery(place, &region, sizeof region) || region.State != MEM_COMMIT || !(region.Protect & protections))
			return FALSE;
		place = (const char *)region.BaseAddress + region.RegionSize;
	}
	return TRUE;
}

// is_readable and is_writable report whether memory of that size is the process's: a number in a pointer's place is
// a violation here, and a crash or worse in Windows.
BOOL is_readable(const void *memory, SIZE_T size)
{
	return has_access(memory, size,
		PAGE_READONLY | PAGE_READWRITE | PAGE_WRITECOPY | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY);
}

BOOL is_writable(void *memory, SIZE_T size)
{
	return has_access(memory, size, PAGE_READWRITE | PAGE_WRITECOPY | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY);
}

BOOL WINAPI DllMain(HINSTANCE library, DWORD reason, void *reserved)
{
	(void)library;
	(void)reserved;
	if (reason == DLL_PROCESS_ATTACH)
		lock = CreateMutexW(NULL, FALSE, L"Global\\iscsidsc-fake");
	return lock != NULL;
}
