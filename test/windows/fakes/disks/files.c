// SPDX-License-Identifier: Apache-2.0
//
// Opening and closing: NtCreateFile, NtOpenFile and NtClose.
#include "fake.h"

NTSTATUS NTAPI NtQueryObject(HANDLE, OBJECT_INFORMATION_CLASS, void *, ULONG, ULONG *);

create_function old_create;
open_function old_open;
close_function old_close;
attributes_function old_attributes, old_full_attributes;

static ACCESS_MASK granted(HANDLE handle)
{
	PUBLIC_OBJECT_BASIC_INFORMATION information = {0};
	NtQueryObject(handle, ObjectBasicInformation, &information, sizeof information, NULL);
	return information.GrantedAccess;
}

static const char *object_name(const TARGET *target, CALL *call, char text[32])
{
	if (target->kind == DISK_DEVICE)
		snprintf(text, 32, "disk-%lu", target->disk);
	else if (target->kind != MOUNT_MANAGER)
		snprintf(text, 32, "volume-%lu.%lu", target->disk, call->state->volume[target->volume].partition);
	return text;
}

// files_of writes the NT path of a file on a volume with a file system.
static void files_of(const VOLUME *volume, const WCHAR *rest, WCHAR path[NAME_MOST])
{
	WCHAR text[39];
	if (volume->is_own) {
		_snwprintf(path, NAME_MOST, L"\\??\\C:%ls", rest);
		return;
	}
	guid_text(&volume->guid, text);
	CreateDirectoryW(FOLDER L"files", NULL);
	_snwprintf(path, NAME_MOST, FOLDER L"files\\%ls", text);
	CreateDirectoryW(path, NULL);
	_snwprintf(path, NAME_MOST, NT_FOLDER L"files\\%ls%ls", text, rest);
}

// may_open judges what the pages say of opening a device.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-createfilew, section "Physical Disks and Volumes"
static NTSTATUS may_open(CALL *call, const TARGET *target, ULONG share, ULONG disposition)
{
	VOLUME *volume = target->kind == DISK_DEVICE ? NULL : &call->state->volume[target->volume];
	if (target->kind != VOLUME_FILE && disposition != FILE_OPEN)
		refuse(call, 0, "a device is opened with disposition %lu instead of OPEN_EXISTING", disposition);
	if (target->kind != VOLUME_FILE && !(share & FILE_SHARE_WRITE))
		refuse(call, 0, "a device is opened without FILE_SHARE_WRITE");
	if (!volume)
		return STATUS_SUCCESS;
	other_handles(volume); // forgets dead processes
	if (volume->locked_by)
		return STATUS_ACCESS_DENIED;
	volume->dismounted = FALSE; // the first who opens it mounts it
	if (target->kind == VOLUME_FILE && volume->offline)
		return STATUS_DEVICE_OFF_LINE;
	if (target->kind == VOLUME_FILE && !file_system(call, volume) && !volume->is_own)
		return STATUS_UNRECOGNIZED_VOLUME;
	return STATUS_SUCCESS;
}

static NTSTATUS open_target(CALL *call, const TARGET *target, HANDLE *handle, ACCESS_MASK access, const OBJECT_ATTRIBUTES *path, IO_STATUS_BLOCK *io, LARGE_INTEGER *size, ULONG attributes,
			    ULONG share, ULONG disposition, ULONG options, void *ea, ULONG ea_size)
{
	WCHAR text[NAME_MOST], guid[39];
	UNICODE_STRING name;
	OBJECT_ATTRIBUTES real = *path;
	OPEN open = {.kind = target->kind, .disk = target->disk, .volume = target->volume};
	VOLUME *volume = &call->state->volume[target->volume];
	NTSTATUS status = may_open(call, target, share, disposition);
	if (status < 0)
		return status;
	guid_text(&volume->guid, guid);
	if (target->kind == DISK_DEVICE)
		_snwprintf(text, NAME_MOST, NT_FOLDER L"open\\disk-%lu", target->disk);
	else if (target->kind == VOLUME_DEVICE)
		_snwprintf(text, NAME_MOST, NT_FOLDER L"open\\volume-%ls", guid);
	else
		files_of(volume, target->rest, text);
	RtlInitUnicodeString(&name, text);
	real.ObjectName = &name;
	real.RootDirectory = NULL;
	if (target->kind != VOLUME_FILE) {
		if (options & FILE_DIRECTORY_FILE)
			return STATUS_NOT_A_DIRECTORY;
		disposition = FILE_OPEN;
		options &= FILE_SYNCHRONOUS_IO_ALERT | FILE_SYNCHRONOUS_IO_NONALERT;
	}
	status = old_create(handle, access, &real, io, size, attributes, share, disposition, options, ea, ea_size);
	if (status < 0)
		return status;
	open.handle = *handle;
	open.access = granted(*handle);
	open.synchronous = (options & (FILE_SYNCHRONOUS_IO_ALERT | FILE_SYNCHRONOUS_IO_NONALERT)) != 0;
	handle_add(&open);
	if (target->kind != DISK_DEVICE)
		opener_add(volume, 1);
	return status;
}


// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/nf-ntifs-ntcreatefile
NTSTATUS WINAPI disks_create(HANDLE *handle, ACCESS_MASK access, OBJECT_ATTRIBUTES *path, IO_STATUS_BLOCK *io, LARGE_INTEGER *size, ULONG attributes, ULONG share, ULONG disposition, ULONG options,
			     void *ea, ULONG ea_size)
{
	CALL call;
	char text[32] = "";
	if (path->RootDirectory || busy() || !looks_ours(path->ObjectName) || !is_here())
		return old_create(handle, access, path, io, size, attributes, share, disposition, options, ea, ea_size);
	TARGET *target = calloc(1, sizeof *target);
	set_busy(TRUE);
	enter(&call, "open", "");
	NTSTATUS status = find_target(&call, path->ObjectName, target);
	if (status >= 0 && (target->kind == NOT_OURS || target->kind == MOUNT_MANAGER)) {
		status = old_create(handle, access, path, io, size, attributes, share, disposition, options, ea, ea_size);
		if (status >= 0 && target->kind == MOUNT_MANAGER)
			handle_add(&(OPEN){.kind = MOUNT_MANAGER, .handle = *handle, .access = granted(*handle)});
	} else {
		ULONG answer;
		snprintf(call.object, sizeof call.object, "%s", status >= 0 ? object_name(target, &call, text) : "");
		if (status >= 0 && (answers(&call, "answer", &answer) || answers(&call, "once", &answer)))
			status = (NTSTATUS)answer;
		if (status >= 0)
			status = open_target(&call, target, handle, access, path, io, size, attributes, share, disposition, options, ea, ea_size);
	}
	leave(&call, status, "'%.*ls' access 0x%lx share %lu", (int)(path->ObjectName->Length / sizeof(WCHAR)), path->ObjectName->Buffer, access, share);
	set_busy(FALSE);
	free(target);
	return status;
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/nf-ntifs-ntopenfile
NTSTATUS WINAPI disks_open(HANDLE *handle, ACCESS_MASK access, OBJECT_ATTRIBUTES *path, IO_STATUS_BLOCK *io, ULONG share, ULONG options)
{
	if (path->RootDirectory || busy() || !looks_ours(path->ObjectName))
		return old_open(handle, access, path, io, share, options);
	return disks_create(handle, access, path, io, NULL, 0, share, FILE_OPEN, options, NULL, 0);
}

NTSTATUS WINAPI disks_close(HANDLE handle)
{
	CALL call;
	OPEN open;
	if (!handle_remove(handle, &open))
		return old_close(handle);
	if (open.kind == VOLUME_DEVICE || open.kind == VOLUME_FILE) {
		set_busy(TRUE);
		enter(&call, "close", "");
		VOLUME *volume = &call.state->volume[open.volume];
		if (open.locked)
			volume->locked_by = 0;
		opener_add(volume, -1);
		leave(&call, 0, "volume-%lu.%lu", volume->disk, volume->partition);
		set_busy(FALSE);
	}
	return old_close(handle);
}

// by_name asks for the attributes of a file on a volume.
static NTSTATUS by_name(attributes_function old, const OBJECT_ATTRIBUTES *path, void *out)
{
	CALL call;
	WCHAR text[NAME_MOST];
	UNICODE_STRING name;
	OBJECT_ATTRIBUTES real = *path;
	if (path->RootDirectory || busy() || !looks_ours(path->ObjectName) || !is_here())
		return old(path, out);
	TARGET *target = calloc(1, sizeof *target);
	set_busy(TRUE);
	enter(&call, "attributes", "");
	NTSTATUS status = find_target(&call, path->ObjectName, target);
	if (status >= 0 && target->kind == VOLUME_FILE) {
		status = may_open(&call, target, FILE_SHARE_WRITE, FILE_OPEN);
		files_of(&call.state->volume[target->volume], target->rest, text);
		RtlInitUnicodeString(&name, text);
		real.ObjectName = &name;
	}
	if (status >= 0)
		status = target->kind == DISK_DEVICE || target->kind == VOLUME_DEVICE ? STATUS_INVALID_PARAMETER : old(&real, out);
	leave(&call, status, "'%.*ls'", (int)(path->ObjectName->Length / sizeof(WCHAR)), path->ObjectName->Buffer);
	set_busy(FALSE);
	free(target);
	return status;
}

NTSTATUS WINAPI disks_attributes(const OBJECT_ATTRIBUTES *path, void *out) { return by_name(old_attributes, path, out); }

NTSTATUS WINAPI disks_full_attributes(const OBJECT_ATTRIBUTES *path, void *out) { return by_name(old_full_attributes, path, out); }
