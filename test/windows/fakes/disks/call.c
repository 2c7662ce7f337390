// SPDX-License-Identifier: Apache-2.0
//
// What every call begins and ends with: the lock and the state of all processes, the log, and what a test injects.
#include "fake.h"

#include <stdarg.h>

BOOL is_here(void)
{
	return GetFileAttributesW(L"C:\\disks-fake") != INVALID_FILE_ATTRIBUTES;
}

static void map_state(CALL *call)
{
	HANDLE file = CreateFileW(FOLDER L"state.bin", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_ALWAYS, 0, NULL);
	call->mapping = CreateFileMappingW(file, NULL, PAGE_READWRITE, 0, sizeof(STATE), NULL);
	call->state = MapViewOfFile(call->mapping, FILE_MAP_WRITE, 0, 0, sizeof(STATE));
	CloseHandle(file);
	if (call->state)
		return;
	fputs("disks: C:\\disks-fake\\state.bin cannot be mapped\n", stderr);
	ExitProcess(3);
}

void enter(CALL *call, const char *name, const char *object)
{
	ULONG wait = 0;
	const DWORD error = GetLastError();
	ZeroMemory(call, sizeof *call);
	call->error = error;
	call->name = name;
	snprintf(call->object, sizeof call->object, "%s", object);
	call->mutex = CreateMutexW(NULL, FALSE, L"csi-proxy-fake-disks");
	WaitForSingleObject(call->mutex, INFINITE);
	control_load(&call->control, FOLDER L"control.txt");
	if (answers(call, "delay", &wait) && wait > 0) { // the others do not wait
		ReleaseMutex(call->mutex);
		Sleep(wait);
		WaitForSingleObject(call->mutex, INFINITE);
		control_free(&call->control);
		control_load(&call->control, FOLDER L"control.txt");
	}
	map_state(call);
	call->layout = calloc(1, sizeof *call->layout);
	control_disks(call);
	volumes_sync_if_stale(call);
}

// leave logs the call and returns its answer, which a line "lost" may replace.
NTSTATUS leave(CALL *call, NTSTATUS status, const char *format, ...)
{
	char line[1024];
	ULONG lost;
	va_list arguments;
	va_start(arguments, format);
	int length = snprintf(line, sizeof line, "%s%s%s ", call->name, *call->object ? " " : "", call->object);
	if (length > 0 && length < (int)sizeof line)
		vsnprintf(line + length, sizeof line - length, format, arguments);
	va_end(arguments);
	if (status >= 0 && answers(call, "lost", &lost))
		status = (NTSTATUS)lost;
	length = (int)strlen(line);
	snprintf(line + length, sizeof line - length, "%s-> 0x%lx\r\n", length > 0 && line[length - 1] == ' ' ? "" : " ", (ULONG)status);
	if (!control_is(&call->control, "calls", "none"))
		file_append(FOLDER L"calls.txt", line);
	control_after(&call->control, call->name);
	control_free(&call->control);
	free(call->disks);
	free(call->layout);
	UnmapViewOfFile(call->state);
	CloseHandle(call->mapping);
	ReleaseMutex(call->mutex);
	CloseHandle(call->mutex);
	SetLastError(call->error);
	return status;
}

// refuse returns the status for what the page forbids, and records the violation.
NTSTATUS refuse(CALL *call, NTSTATUS status, const char *format, ...)
{
	char line[1024];
	va_list arguments;
	va_start(arguments, format);
	int length = snprintf(line, sizeof line, "%s%s%s: ", call->name, *call->object ? " " : "", call->object);
	length += vsnprintf(line + length, sizeof line - length - 2, format, arguments);
	va_end(arguments);
	strcat(line, "\r\n");
	file_append(FOLDER L"violations.txt", line);
	return status;
}

DISK *disk_of(CALL *call, ULONG number)
{
	for (int i = 0; i < call->disk_count; i++)
		if (call->disks[i].number == number)
			return &call->disks[i];
	return NULL;
}

DISK_STATE *disk_state(CALL *call, const DISK *disk)
{
	return &call->state->disk[disk->number];
}
