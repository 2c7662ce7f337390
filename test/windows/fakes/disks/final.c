// SPDX-License-Identifier: Apache-2.0
//
// GetFinalPathNameByHandleW of files on volumes, which Wine finds in C:\disks-fake\files.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-getfinalpathnamebyhandlew
#include "fake.h"

#define ON_VOLUMES L"\\\\?\\C:\\disks-fake\\files\\"

enum { GUID_TEXT = 38 };

// folder_of writes the first folder at which a volume is mounted, with its separator.
static BOOL folder_of(const WCHAR *name, WCHAR folder[NAME_MOST])
{
	const size_t length = wcslen(name);
	WCHAR *text = mount_records();
	BOOL found = FALSE;
	for (WCHAR *line = text, *stop; !found && (stop = wcschr(line, '\r')); line = stop + 2) {
		*stop = 0;
		if ((found = !_wcsnicmp(line, name, length)))
			wcscpy(folder, line + length + 1);
	}
	free(text);
	return found;
}

// translate writes the path that a flag asks for, of a path on a volume.
static NTSTATUS translate(CALL *call, const WCHAR *on_volume, DWORD flags, WCHAR out[NAME_MOST])
{
	GUID guid;
	WCHAR name[64], folder[NAME_MOST];
	const WCHAR *rest = on_volume + GUID_TEXT;
	rest += *rest == '\\';
	VOLUME *volume = parse_guid(on_volume, &guid) ? volume_by_guid(call, &guid) : NULL;
	if (!volume)
		return STATUS_DEVICE_DOES_NOT_EXIST;
	snprintf(call->object, sizeof call->object, "volume-%lu.%lu", volume->disk, volume->partition);
	_snwprintf(name, ARRAYSIZE(name), L"\\\\?\\Volume%.38ls\\", on_volume);
	switch (flags & (VOLUME_NAME_GUID | VOLUME_NAME_NT | VOLUME_NAME_NONE)) {
	case VOLUME_NAME_GUID:
		_snwprintf(out, NAME_MOST, L"%ls%ls", name, rest);
		return STATUS_SUCCESS;
	case VOLUME_NAME_NT:
		_snwprintf(out, NAME_MOST, L"\\Device\\HarddiskVolume%lu\\%ls", volume->number, rest);
		return STATUS_SUCCESS;
	case VOLUME_NAME_NONE:
		_snwprintf(out, NAME_MOST, L"\\%ls", rest);
		return STATUS_SUCCESS;
	}
	if (!folder_of(name, folder))
		return STATUS_OBJECT_PATH_NOT_FOUND; // "if you create a volume and do not assign it a drive letter"
	_snwprintf(out, NAME_MOST, L"\\\\?\\%ls%ls", folder, rest);
	return STATUS_SUCCESS;
}

DWORD WINAPI final_path_name(HANDLE h, WCHAR *path, DWORD size, DWORD flags)
{
	CALL call;
	WCHAR real[NAME_MOST], text[NAME_MOST];
	DWORD(WINAPI * wine)(HANDLE, WCHAR *, DWORD, DWORD) = (void *)GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), "GetFinalPathNameByHandleW");
	const DWORD got = wine(h, real, ARRAYSIZE(real), VOLUME_NAME_DOS), prefix = ARRAYSIZE(ON_VOLUMES) - 1;
	if (got < prefix + GUID_TEXT || got >= ARRAYSIZE(real) || _wcsnicmp(real, ON_VOLUMES, prefix))
		return wine(h, path, size, flags);
	set_busy(TRUE);
	enter(&call, "GetFinalPathNameByHandleW", "");
	NTSTATUS status = translate(&call, real + prefix, flags, text);
	status = leave(&call, status, "flags %lu", flags);
	set_busy(FALSE);
	if (status < 0) {
		SetLastError(RtlNtStatusToDosError(status));
		return 0;
	}
	const DWORD length = (DWORD)wcslen(text);
	if (size <= length) {
		SetLastError(ERROR_NOT_ENOUGH_MEMORY);
		return length + 1;
	}
	wcscpy(path, text);
	return length;
}
