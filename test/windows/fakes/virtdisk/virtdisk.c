// SPDX-License-Identifier: Apache-2.0
//
// Virtual disks as lines of the fake disks' control.txt. The file at a disk's path has its size and, once it was attached, its number.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <windows.h>

#include <virtdisk.h>

#include "../harness/control.h"

static const WCHAR control_path[] = L"C:\\disks-fake\\control.txt";

enum { NO_NUMBER = 0xffff };

typedef struct {
	ULONGLONG size;
	ULONG number;
} STATE;

static BOOL read_state(HANDLE file, STATE *state)
{
	DWORD got;
	OVERLAPPED start = {0};
	return ReadFile(file, state, sizeof *state, &got, &start) && got == sizeof *state;
}

static DWORD write_state(HANDLE file, const STATE *state)
{
	DWORD put;
	OVERLAPPED start = {0};
	return WriteFile(file, state, sizeof *state, &put, &start) ? ERROR_SUCCESS : GetLastError();
}

// line_of finds the line "KEYWORD NUMBER …".
static LINE *line_of(const CONTROL *control, const char *keyword, ULONG number)
{
	for (LINE *line = control_find(control, NULL, keyword); line; line = control_find(control, line, keyword))
		if (strtoul(line->word[1], NULL, 0) == number)
			return line;
	return NULL;
}

// begin reads control.txt and what a handle is of.
static DWORD begin(CONTROL *control, HANDLE file, STATE *state)
{
	control_load(control, control_path);
	return read_state(file, state) ? ERROR_SUCCESS : ERROR_INVALID_HANDLE;
}

static BOOL attached(const CONTROL *control, const STATE *state)
{
	return state->number != NO_NUMBER && !line_of(control, "gone", state->number);
}

// https://learn.microsoft.com/windows/win32/api/virtdisk/nf-virtdisk-createvirtualdisk
// https://learn.microsoft.com/windows/win32/api/virtdisk/ns-virtdisk-create_virtual_disk_parameters
DWORD WINAPI CreateVirtualDisk(VIRTUAL_STORAGE_TYPE *type, PCWSTR path, VIRTUAL_DISK_ACCESS_MASK access, PSECURITY_DESCRIPTOR descriptor, CREATE_VIRTUAL_DISK_FLAG flags,
	ULONG provider, CREATE_VIRTUAL_DISK_PARAMETERS *parameters, OVERLAPPED *overlapped, HANDLE *handle)
{
	STATE state = {.number = NO_NUMBER};
	(void)descriptor, (void)flags, (void)provider, (void)overlapped;
	if (!type || !parameters || parameters->Version != CREATE_VIRTUAL_DISK_VERSION_2 || access != VIRTUAL_DISK_ACCESS_NONE)
		return ERROR_INVALID_PARAMETER;
	state.size = parameters->Version2.MaximumSize;
	if (state.size < 3 << 20 || state.size % 512)
		return ERROR_INVALID_PARAMETER;
	*handle = CreateFileW(path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, CREATE_NEW, 0, NULL);
	return *handle == INVALID_HANDLE_VALUE ? GetLastError() : write_state(*handle, &state);
}

// https://learn.microsoft.com/windows/win32/api/virtdisk/nf-virtdisk-openvirtualdisk
DWORD WINAPI OpenVirtualDisk(VIRTUAL_STORAGE_TYPE *type, PCWSTR path, VIRTUAL_DISK_ACCESS_MASK access, OPEN_VIRTUAL_DISK_FLAG flags, OPEN_VIRTUAL_DISK_PARAMETERS *parameters, HANDLE *handle)
{
	(void)type, (void)access, (void)flags, (void)parameters;
	*handle = CreateFileW(path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, 0, NULL);
	return *handle == INVALID_HANDLE_VALUE ? GetLastError() : ERROR_SUCCESS;
}

// https://learn.microsoft.com/windows/win32/api/virtdisk/nf-virtdisk-attachvirtualdisk
DWORD WINAPI AttachVirtualDisk(HANDLE disk, PSECURITY_DESCRIPTOR descriptor, ATTACH_VIRTUAL_DISK_FLAG flags, ULONG provider, ATTACH_VIRTUAL_DISK_PARAMETERS *parameters, OVERLAPPED *overlapped)
{
	CONTROL control;
	STATE state;
	(void)descriptor, (void)flags, (void)provider, (void)parameters, (void)overlapped;
	DWORD code = begin(&control, disk, &state);
	if (!code && attached(&control, &state))
		code = ERROR_SHARING_VIOLATION;
	if (!code && state.number != NO_NUMBER)
		control_change(&control, line_of(&control, "gone", state.number), NULL);
	if (!code && state.number == NO_NUMBER) {
		char line[128];
		for (state.number = 0; line_of(&control, "disk", state.number);)
			state.number++;
		snprintf(line, sizeof line, "disk %lu %llu bus file-backed vendor Msft product Virtual_Disk\r\n", state.number, state.size);
		file_append(control_path, line);
		code = write_state(disk, &state);
	}
	control_free(&control);
	return code;
}

// https://learn.microsoft.com/windows/win32/api/virtdisk/nf-virtdisk-detachvirtualdisk
DWORD WINAPI DetachVirtualDisk(HANDLE disk, DETACH_VIRTUAL_DISK_FLAG flags, ULONG provider)
{
	CONTROL control;
	STATE state;
	(void)flags, (void)provider;
	DWORD code = begin(&control, disk, &state);
	if (!code && !attached(&control, &state))
		code = ERROR_NOT_READY;
	if (!code) {
		char line[32];
		snprintf(line, sizeof line, "gone %lu\r\n", state.number);
		file_append(control_path, line);
	}
	control_free(&control);
	return code;
}

// https://learn.microsoft.com/windows/win32/api/virtdisk/nf-virtdisk-resizevirtualdisk, which leaves open what an attached disk answers
DWORD WINAPI ResizeVirtualDisk(HANDLE disk, RESIZE_VIRTUAL_DISK_FLAG flags, RESIZE_VIRTUAL_DISK_PARAMETERS *parameters, OVERLAPPED *overlapped)
{
	CONTROL control;
	STATE state;
	(void)flags, (void)overlapped;
	DWORD code = begin(&control, disk, &state);
	if (!code && (parameters->Version != RESIZE_VIRTUAL_DISK_VERSION_1 || parameters->Version1.NewSize < state.size))
		code = ERROR_INVALID_PARAMETER;
	if (!code && attached(&control, &state) && control_is(&control, "resize", "detached"))
		code = ERROR_SHARING_VIOLATION;
	if (!code) {
		state.size = parameters->Version1.NewSize;
		code = write_state(disk, &state);
	}
	if (!code && state.number != NO_NUMBER) {
		char line[64];
		LINE *before = line_of(&control, "grown", state.number);
		if (before)
			control_change(&control, before, NULL);
		snprintf(line, sizeof line, "grown %lu %llu\r\n", state.number, state.size);
		file_append(control_path, line);
	}
	control_free(&control);
	return code;
}

// https://learn.microsoft.com/windows/win32/api/virtdisk/nf-virtdisk-getvirtualdiskphysicalpath
DWORD WINAPI GetVirtualDiskPhysicalPath(HANDLE disk, ULONG *bytes, PWSTR path)
{
	CONTROL control;
	STATE state;
	WCHAR name[64];
	DWORD code = begin(&control, disk, &state);
	if (!code && !attached(&control, &state))
		code = ERROR_NOT_READY;
	control_free(&control);
	if (code)
		return code;
	int length = _snwprintf(name, ARRAYSIZE(name), L"\\\\.\\PhysicalDrive%lu", state.number);
	ULONG needed = (ULONG)(length + 1) * sizeof(WCHAR), given = *bytes;
	*bytes = needed;
	if (given < needed)
		return ERROR_INSUFFICIENT_BUFFER;
	memcpy(path, name, needed);
	return ERROR_SUCCESS;
}
