// SPDX-License-Identifier: Apache-2.0
//
// Mounted folders: the functions of kernel32.dll by which volumes get them. A mounted folder is a directory junction to a volume's name, of
// which the mount manager is told:
// https://learn.microsoft.com/windows-hardware/drivers/ddi/mountmgr/ni-mountmgr-ioctl_mountmgr_volume_mount_point_created
#include "fake.h"

enum { VOLUME_NAME = 50, POINT_HEADER = 16 }; // characters with the NUL; bytes


typedef BOOL(WINAPI *name_function)(const WCHAR *, WCHAR *, DWORD);
typedef BOOL(WINAPI *paths_function)(const WCHAR *, WCHAR *, DWORD, DWORD *);

static void *wines(const char *name) { return (void *)GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), name); }

// begin and end are enter and leave of a function that calls system calls in between as any program does.
static void begin(CALL *call, const char *name)
{
	set_busy(TRUE);
	enter(call, name, "");
	set_busy(FALSE);
}

static BOOL end(CALL *call, NTSTATUS status, const WCHAR *path)
{
	set_busy(TRUE);
	status = leave(call, status, "'%ls'", path ? path : L"");
	set_busy(FALSE);
	if (status < 0)
		SetLastError(RtlNtStatusToDosError(status));
	return status >= 0;
}

static BOOL injected(CALL *call, NTSTATUS *status)
{
	ULONG answer;
	if (!answers(call, "answer", &answer) && !answers(call, "once", &answer))
		return FALSE;
	*status = (NTSTATUS)answer;
	return TRUE;
}

static NTSTATUS needs_separator(CALL *call, const WCHAR *path)
{
	const size_t length = path ? wcslen(path) : 0;
	return length > 0 && path[length - 1] == '\\' ? STATUS_SUCCESS : refuse(call, STATUS_OBJECT_NAME_INVALID, "'%ls' does not end with a backslash", path ? path : L"");
}

// named finds the volume whose name, \\?\Volume{GUID}\, a text is: ours, or with NULL one of Wine's drives.
static NTSTATUS named(CALL *call, const WCHAR *name, VOLUME **volume)
{
	GUID guid;
	WCHAR drive[VOLUME_NAME];
	*volume = NULL;
	if (!name || wcslen(name) != VOLUME_NAME - 1 || _wcsnicmp(name, L"\\\\?\\Volume", 10) || !parse_guid(name + 10, &guid) || name[VOLUME_NAME - 2] != '\\')
		return refuse(call, STATUS_INVALID_PARAMETER, "'%ls' is not a volume GUID path", name ? name : L"");
	*volume = volume_by_guid(call, &guid);
	if (*volume && volume_there(call, *volume)) {
		snprintf(call->object, sizeof call->object, "volume-%lu.%lu", (*volume)->disk, (*volume)->partition);
		return STATUS_SUCCESS;
	}
	*volume = NULL;
	return ((name_function)wines("GetVolumeNameForVolumeMountPointW"))(L"C:\\", drive, ARRAYSIZE(drive)) && !_wcsicmp(drive, name) ? STATUS_SUCCESS : STATUS_OBJECT_NAME_NOT_FOUND;
}

static NTSTATUS open_folder(const WCHAR *path, ACCESS_MASK access, HANDLE *h)
{
	UNICODE_STRING name;
	OBJECT_ATTRIBUTES attributes;
	IO_STATUS_BLOCK io;
	if (!RtlDosPathNameToNtPathName_U(path, &name, NULL, NULL))
		return STATUS_OBJECT_NAME_INVALID;
	InitializeObjectAttributes(&attributes, &name, OBJ_CASE_INSENSITIVE, NULL, NULL);
	NTSTATUS status = NtOpenFile(h, access | SYNCHRONIZE, &attributes, &io, FILE_SHARE_READ | FILE_SHARE_WRITE, FILE_SYNCHRONOUS_IO_NONALERT | FILE_OPEN_FOR_BACKUP_INTENT | FILE_OPEN_REPARSE_POINT);
	RtlFreeUnicodeString(&name);
	return status;
}

// junction writes the data of a directory junction to a volume.
// https://learn.microsoft.com/openspecs/windows_protocols/ms-fscc/ca069dad-ed16-42aa-b057-b6b207f447cc
static ULONG junction(const WCHAR *volume, BYTE data[256])
{
	WCHAR target[VOLUME_NAME];
	const USHORT length = (VOLUME_NAME - 1) * sizeof *target;
	wcscpy(target, volume);
	target[1] = '?'; // \\?\ is \??\ to the object manager
	const USHORT head[8] = {IO_REPARSE_TAG_MOUNT_POINT & 0xffff, IO_REPARSE_TAG_MOUNT_POINT >> 16, 8 + length + 4, 0, 0, length, length + 2, 0};
	ZeroMemory(data, 256);
	memcpy(data, head, sizeof head);
	memcpy(data + POINT_HEADER, target, length);
	return POINT_HEADER + length + 4;
}

// mounted reads which volume is mounted at an open folder.
static NTSTATUS mounted(HANDLE folder, WCHAR name[VOLUME_NAME])
{
	IO_STATUS_BLOCK io;
	GUID guid;
	USHORT *data = calloc(1, MAXIMUM_REPARSE_DATA_BUFFER_SIZE);
	NTSTATUS status = NtFsControlFile(folder, NULL, NULL, NULL, &io, FSCTL_GET_REPARSE_POINT, NULL, 0, data, MAXIMUM_REPARSE_DATA_BUFFER_SIZE);
	if (status >= 0) {
		const WCHAR *target = (const WCHAR *)((BYTE *)data + POINT_HEADER + data[4]);
		status = STATUS_INVALID_PARAMETER;
		if (*(ULONG *)data == IO_REPARSE_TAG_MOUNT_POINT && data[5] == (VOLUME_NAME - 1) * sizeof *target && !_wcsnicmp(target, L"\\??\\Volume", 10) && parse_guid(target + 10, &guid)) {
			memcpy(name, target, data[5]);
			name[1] = '\\';
			name[VOLUME_NAME - 1] = 0;
			status = STATUS_SUCCESS;
		}
	}
	free(data);
	return status;
}

static NTSTATUS mount(const WCHAR *path, const WCHAR *volume)
{
	BYTE data[256];
	WCHAR other[VOLUME_NAME];
	IO_STATUS_BLOCK io;
	HANDLE h;
	NTSTATUS status = open_folder(path, FILE_WRITE_DATA | FILE_READ_ATTRIBUTES, &h);
	if (status < 0)
		return status;
	if (mounted(h, other) >= 0) // "even if the directory is empty"
		status = STATUS_DIRECTORY_NOT_EMPTY;
	else
		status = NtFsControlFile(h, NULL, NULL, NULL, &io, FSCTL_SET_REPARSE_POINT, data, junction(volume, data), NULL, 0);
	NtClose(h);
	if (status >= 0)
		mount_record(volume, path, TRUE);
	return status;
}

// https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-setvolumemountpointw
static BOOL WINAPI set_volume_mount_point(const WCHAR *path, const WCHAR *name)
{
	CALL call;
	VOLUME *volume;
	begin(&call, "SetVolumeMountPointW");
	NTSTATUS status = needs_separator(&call, path);
	if (status >= 0)
		status = named(&call, name, &volume);
	if (status >= 0 && !injected(&call, &status)) {
		if (wcslen(path) == 3 && path[1] == ':')
			status = refuse(&call, STATUS_NOT_SUPPORTED, "the fake has no drive letters");
		else
			status = mount(path, name);
	}
	return end(&call, status, path);
}

static NTSTATUS unmount(const WCHAR *path)
{
	BYTE data[256];
	WCHAR name[VOLUME_NAME];
	IO_STATUS_BLOCK io;
	HANDLE h;
	NTSTATUS status = open_folder(path, FILE_WRITE_DATA | FILE_READ_ATTRIBUTES, &h);
	if (status < 0)
		return status;
	status = mounted(h, name);
	if (status >= 0) {
		junction(name, data);
		data[4] = data[5] = 0; // the tag alone
		status = NtFsControlFile(h, NULL, NULL, NULL, &io, FSCTL_DELETE_REPARSE_POINT, data, 8, NULL, 0);
	}
	NtClose(h);
	if (status >= 0)
		mount_record(name, path, FALSE);
	return status;
}

// What a directory answers that is not mounted, the page leaves open.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-deletevolumemountpointw
static BOOL WINAPI delete_volume_mount_point(const WCHAR *path)
{
	CALL call;
	begin(&call, "DeleteVolumeMountPointW");
	NTSTATUS status = needs_separator(&call, path);
	if (status >= 0 && !injected(&call, &status))
		status = unmount(path);
	return end(&call, status, path);
}

static NTSTATUS volume_of(CALL *call, const WCHAR *path, WCHAR name[VOLUME_NAME])
{
	VOLUME *volume;
	HANDLE h;
	if (!wcsncmp(path, L"\\\\?\\", 4) && path[4] && path[5] == ':')
		path += 4;
	if (path[1] == ':' && path[2] == '\\' && !path[3])
		return ((name_function)wines("GetVolumeNameForVolumeMountPointW"))(path, name, VOLUME_NAME) ? STATUS_SUCCESS : STATUS_OBJECT_NAME_NOT_FOUND;
	if (wcslen(path) == VOLUME_NAME - 1 && !_wcsnicmp(path, L"\\\\?\\Volume{", 11)) {
		wcscpy(name, path);
		return named(call, name, &volume);
	}
	NTSTATUS status = open_folder(path, FILE_READ_ATTRIBUTES, &h);
	if (status < 0)
		return status;
	status = mounted(h, name);
	NtClose(h);
	return status >= 0 ? named(call, name, &volume) : status;
}

// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-getvolumenameforvolumemountpointw
static BOOL WINAPI volume_name_for_mount_point(const WCHAR *path, WCHAR *name, DWORD size)
{
	CALL call;
	WCHAR found[VOLUME_NAME];
	begin(&call, "GetVolumeNameForVolumeMountPointW");
	NTSTATUS status = needs_separator(&call, path);
	if (status >= 0 && !injected(&call, &status))
		status = volume_of(&call, path, found);
	if (status >= 0 && size < VOLUME_NAME)
		status = STATUS_NAME_TOO_LONG;
	if (status >= 0)
		wcscpy(name, found);
	return end(&call, status, path);
}

// paths_of makes the list of a volume's drive letters and folders and returns how many characters it has.
static DWORD paths_of(const WCHAR *name, WCHAR *list)
{
	WCHAR *text = mount_records(), *at = list;
	DWORD letters = 0;
	if (((paths_function)wines("GetVolumePathNamesForVolumeNameW"))(name, list, NAME_MOST, &letters) && letters > 1)
		at += letters - 1;
	for (WCHAR *line = text, *stop; (stop = wcschr(line, '\r')); line = stop + 2) {
		*stop = 0;
		if (_wcsnicmp(line, name, VOLUME_NAME - 1))
			continue;
		wcscpy(at, line + VOLUME_NAME);
		at += wcslen(at) + 1;
	}
	*at++ = 0;
	free(text);
	return (DWORD)(at - list);
}

// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-getvolumepathnamesforvolumenamew
static BOOL WINAPI volume_path_names(const WCHAR *name, WCHAR *paths, DWORD size, DWORD *needed)
{
	CALL call;
	VOLUME *volume;
	WCHAR *list = calloc(RECORDS_MOST + NAME_MOST, sizeof *list);
	begin(&call, "GetVolumePathNamesForVolumeNameW");
	NTSTATUS status = named(&call, name, &volume);
	if (status >= 0 && !injected(&call, &status)) {
		const DWORD length = paths_of(name, list);
		if (paths)
			memcpy(paths, list, min(size, length) * sizeof *list);
		if (needed)
			*needed = length;
		status = size < length ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS; // ERROR_MORE_DATA
	}
	free(list);
	return end(&call, status, name);
}

const MOUNT_FUNCTION mount_functions[] = {
	{"SetVolumeMountPointW", (void *)set_volume_mount_point},
	{"DeleteVolumeMountPointW", (void *)delete_volume_mount_point},
	{"GetVolumeNameForVolumeMountPointW", (void *)volume_name_for_mount_point},
	{"GetVolumePathNamesForVolumeNameW", (void *)volume_path_names},
	{"GetFinalPathNameByHandleW", (void *)final_path_name},
	{NULL, NULL},
};
