// SPDX-License-Identifier: Apache-2.0
//
// Reading, writing and flushing devices, and what a handle of theirs tells: the position, the file system.
#include "fake.h"

transfer_function old_read, old_write;
flush_function old_flush;
information_function old_volume_information, old_information, old_set_information;

static void name_object(CALL *call, const OPEN *open)
{
	if (open->kind == DISK_DEVICE)
		snprintf(call->object, sizeof call->object, "disk-%lu", open->disk);
	else
		snprintf(call->object, sizeof call->object, "volume-%lu.%lu", open->disk, call->state->volume[open->volume].partition);
}

// guards reports whether a mounted file system forbids writing through the disk: the sectors of its volume, unless it is locked or dismounted.
// https://learn.microsoft.com/windows-hardware/drivers/ifs/blocking-direct-write-operations-to-volumes-and-disks
static BOOL guards(CALL *call, const OPEN *open, ULONGLONG offset, ULONG length)
{
	if (open->kind != DISK_DEVICE)
		return file_system(call, &call->state->volume[open->volume]) && !open->locked && !call->state->volume[open->volume].dismounted && offset + length > 8192;
	for (const VOLUME *volume = call->state->volume; volume < call->state->volume + MAX_VOLUMES; volume++)
		if (volume->used && volume->there && volume->disk == open->disk && file_system(call, volume) && !volume->locked_by && !volume->dismounted && !volume->offline &&
		    offset < volume->offset + volume->length && volume->offset < offset + length)
			return TRUE;
	return FALSE;
}

// aim finds the bytes on the image that a transfer is about.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-createfilew, "Physical Disks and Volumes": whole sectors at whole sectors.
static NTSTATUS aim(CALL *call, const OPEN *open, BOOL write, LONGLONG offset, ULONG length, DISK **disk, ULONGLONG *at)
{
	const VOLUME *volume = open->kind == VOLUME_DEVICE ? &call->state->volume[open->volume] : NULL;
	ULONG answer;
	if (answers(call, "answer", &answer) || answers(call, "once", &answer))
		return (NTSTATUS)answer;
	if (!(open->access & (write ? FILE_WRITE_DATA : FILE_READ_DATA)))
		return refuse(call, STATUS_ACCESS_DENIED, "a handle with access 0x%lx", open->access);
	*disk = disk_of(call, open->disk);
	if (!*disk || !(*disk)->there || (volume && !volume->there))
		return STATUS_DEVICE_DOES_NOT_EXIST;
	if (volume && volume->offline)
		return STATUS_DEVICE_OFF_LINE;
	if (offset < 0 || offset % (*disk)->sector || length % (*disk)->sector)
		return refuse(call, STATUS_INVALID_PARAMETER, "offset %lld and length %lu are not whole sectors of %lu bytes", offset, length, (*disk)->sector);
	const ULONGLONG size = volume ? volume->length : disk_state(call, *disk)->shown;
	if ((ULONGLONG)offset + length > size)
		return STATUS_NONEXISTENT_SECTOR;
	if (write && disk_state(call, *disk)->attributes & 2)
		return refuse(call, STATUS_MEDIA_WRITE_PROTECTED, "the disk is read-only");
	if (write && guards(call, open, (ULONGLONG)offset, length))
		return refuse(call, STATUS_ACCESS_DENIED, "the sectors are those of a mounted file system");
	*at = (ULONGLONG)offset + (volume ? volume->offset : 0);
	return STATUS_SUCCESS;
}

// transfer reads or writes; the offset -2 means the position. https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/nf-ntifs-ntreadfile
static NTSTATUS transfer(OPEN *open, BOOL write, HANDLE event, void *apc, void *context, IO_STATUS_BLOCK *io, void *data, ULONG length, const LARGE_INTEGER *offset)
{
	CALL call;
	DISK *disk = NULL;
	ULONGLONG at = 0;
	const BOOL by_position = !offset || (offset->HighPart == -1 && offset->LowPart == (ULONG)-2);
	const LONGLONG from = by_position ? open->position : offset->QuadPart;
	if (by_position && !open->synchronous)
		return STATUS_INVALID_PARAMETER;
	set_busy(TRUE);
	enter(&call, write ? "write" : "read", "");
	name_object(&call, open);
	NTSTATUS status = aim(&call, open, write, from, length, &disk, &at);
	if (status >= 0)
		status = write ? image_write(&call, disk, at, data, length) : image_read(&call, disk, at, data, length);
	status = leave(&call, status, "offset %lld length %lu", from, length);
	if (status >= 0 && open->synchronous) {
		open->position = from + length;
		handle_change(open);
	}
	set_busy(FALSE);
	return complete(open, io, event, apc, context, status, status < 0 ? 0 : length);
}

NTSTATUS WINAPI disks_read(HANDLE h, HANDLE event, void *apc, void *context, IO_STATUS_BLOCK *io, void *data, ULONG length, LARGE_INTEGER *offset, ULONG *key)
{
	OPEN open;
	if (busy() || !handle_get(h, &open) || open.kind == VOLUME_FILE || open.kind == MOUNT_MANAGER)
		return old_read(h, event, apc, context, io, data, length, offset, key);
	return transfer(&open, FALSE, event, apc, context, io, data, length, offset);
}

NTSTATUS WINAPI disks_write(HANDLE h, HANDLE event, void *apc, void *context, IO_STATUS_BLOCK *io, void *data, ULONG length, LARGE_INTEGER *offset, ULONG *key)
{
	OPEN open;
	if (busy() || !handle_get(h, &open) || open.kind == VOLUME_FILE || open.kind == MOUNT_MANAGER)
		return old_write(h, event, apc, context, io, data, length, offset, key);
	return transfer(&open, TRUE, event, apc, context, io, data, length, offset);
}

// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-flushfilebuffers: the handle needs GENERIC_WRITE.
NTSTATUS WINAPI disks_flush(HANDLE h, IO_STATUS_BLOCK *io)
{
	CALL call;
	OPEN open;
	ULONG answer;
	NTSTATUS status;
	if (busy() || !handle_get(h, &open) || open.kind == VOLUME_FILE || open.kind == MOUNT_MANAGER)
		return old_flush(h, io);
	set_busy(TRUE);
	enter(&call, "flush", "");
	name_object(&call, &open);
	const DISK *disk = disk_of(&call, open.disk);
	if (answers(&call, "answer", &answer) || answers(&call, "once", &answer))
		status = (NTSTATUS)answer;
	else if (!(open.access & (FILE_WRITE_DATA | FILE_APPEND_DATA)))
		status = refuse(&call, STATUS_ACCESS_DENIED, "a handle with access 0x%lx", open.access);
	else
		status = disk && disk->there ? image_flush(&call, disk) : STATUS_DEVICE_DOES_NOT_EXIST;
	status = leave(&call, status, "");
	set_busy(FALSE);
	return complete(&open, io, NULL, NULL, NULL, status, 0);
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/wdm/ne-wdm-_file_information_class
enum { STANDARD = 5, ACCESS_FLAGS = 8, POSITION = 14, MODE = 16, COMPLETION = 30, NOTIFICATION = 41, FILE_NAMES = 9 };

// A device has a position and no other information of files; what is the I/O manager's own is Wine's.
NTSTATUS WINAPI disks_information(HANDLE h, IO_STATUS_BLOCK *io, void *out, ULONG size, ULONG class)
{
	OPEN open;
	if (busy() || !handle_get(h, &open) || open.kind == VOLUME_FILE || open.kind == MOUNT_MANAGER || class == ACCESS_FLAGS || class == MODE || class == NOTIFICATION)
		return old_information(h, io, out, size, class);
	if (class != POSITION)
		return STATUS_INVALID_PARAMETER;
	if (size < sizeof open.position)
		return STATUS_INFO_LENGTH_MISMATCH;
	memcpy(out, &open.position, sizeof open.position);
	return complete(&open, io, NULL, NULL, NULL, STATUS_SUCCESS, sizeof open.position);
}

NTSTATUS WINAPI disks_set_information(HANDLE h, IO_STATUS_BLOCK *io, void *in, ULONG size, ULONG class)
{
	OPEN open;
	if (busy() || !handle_get(h, &open) || open.kind == VOLUME_FILE || open.kind == MOUNT_MANAGER)
		return old_set_information(h, io, in, size, class);
	if (class == POSITION && size >= sizeof open.position) {
		memcpy(&open.position, in, sizeof open.position);
		handle_change(&open);
		return complete(&open, io, NULL, NULL, NULL, STATUS_SUCCESS, 0);
	}
	if (class != COMPLETION && class != NOTIFICATION)
		return STATUS_INVALID_PARAMETER;
	NTSTATUS status = old_set_information(h, io, in, size, class);
	if (status < 0)
		return status;
	if (class == COMPLETION) {
		open.port = ((HANDLE *)in)[0];
		open.key = ((ULONG_PTR *)in)[1];
	} else {
		open.notification |= *(ULONG *)in;
	}
	handle_change(&open);
	return status;
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/wdm/ne-wdm-_fsinfoclass
enum { FS_VOLUME = 1, FS_SIZE = 3, FS_DEVICE = 4, FS_ATTRIBUTE = 5, FS_FULL_SIZE = 7 };

static NTSTATUS answer_with(IO_STATUS_BLOCK *io, void *out, ULONG size, const void *data, ULONG needed, ULONG least)
{
	if (size < least)
		return STATUS_INFO_LENGTH_MISMATCH;
	memcpy(out, data, min(size, needed));
	io->Information = min(size, needed);
	return io->Status = size < needed ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS;
}

static NTSTATUS fs_attribute(IO_STATUS_BLOCK *io, void *out, ULONG size, const char *name)
{
	struct { ULONG attributes, longest, length; WCHAR name[16]; } answer = {0};
	const int n = _snwprintf(answer.name, ARRAYSIZE(answer.name), L"%hs", name);
	answer.attributes = strcmp(name, "RAW") ? 0x00c706ff : 0; // NTFS: named streams, reparse points, sparse files, ACLs, …
	answer.longest = strcmp(name, "RAW") ? 255 : 0;
	answer.length = (ULONG)(n * sizeof(WCHAR));
	return answer_with(io, out, size, &answer, 12 + answer.length, 16);
}

static NTSTATUS fs_size(IO_STATUS_BLOCK *io, void *out, ULONG size, ULONG class, ULONGLONG length, ULONGLONG used, ULONG sector, BOOL raw)
{
	const ULONG per_unit = raw ? 1 : 4096 > sector ? 4096 / sector : 1;
	const ULONGLONG units = length / sector / per_unit, unused = raw ? 0 : units - min(units, used / sector / per_unit);
	const struct { ULONGLONG units, unused; ULONG per_unit, sector; } some = {units, unused, per_unit, sector};
	const struct { ULONGLONG units, mine, unused; ULONG per_unit, sector; } all = {units, unused, unused, per_unit, sector};
	return class == FS_SIZE ? answer_with(io, out, size, &some, sizeof some, sizeof some) : answer_with(io, out, size, &all, sizeof all, sizeof all);
}

// What the RAW file system tells of a volume that no other recognizes: its name and a size
// (https://github.com/reactos/reactos/blob/master/ntoskrnl/io/iomgr/rawfs.c does the same). "raw unrecognized" is the other reading.
NTSTATUS WINAPI disks_volume_information(HANDLE h, IO_STATUS_BLOCK *io, void *out, ULONG size, ULONG class)
{
	CALL call;
	OPEN open;
	ULONG answer;
	NTSTATUS status = STATUS_INVALID_PARAMETER;
	if (busy() || !handle_get(h, &open) || open.kind == MOUNT_MANAGER || (open.kind == VOLUME_FILE && class != FS_VOLUME && class != FS_SIZE && class != FS_ATTRIBUTE && class != FS_FULL_SIZE))
		return old_volume_information(h, io, out, size, class);
	set_busy(TRUE);
	enter(&call, "volume-information", "");
	name_object(&call, &open);
	const VOLUME *volume = open.kind == DISK_DEVICE ? NULL : &call.state->volume[open.volume];
	const DISK *disk = disk_of(&call, open.disk);
	const char *name = volume ? file_system(&call, volume) : NULL;
	if (answers(&call, "answer", &answer) || answers(&call, "once", &answer)) {
		status = (NTSTATUS)answer;
	} else if (!disk || !disk->there) {
		status = STATUS_DEVICE_DOES_NOT_EXIST;
	} else if (class == FS_DEVICE) {
		const ULONG device[2] = {FILE_DEVICE_DISK, 0};
		status = answer_with(io, out, size, device, sizeof device, sizeof device);
	} else if (volume && volume->is_own) {
		HANDLE real;
		IO_STATUS_BLOCK other;
		UNICODE_STRING root;
		OBJECT_ATTRIBUTES path;
		RtlInitUnicodeString(&root, L"\\??\\C:\\");
		InitializeObjectAttributes(&path, &root, OBJ_CASE_INSENSITIVE, NULL, NULL);
		status = old_open(&real, SYNCHRONIZE | FILE_READ_ATTRIBUTES, &path, &other, 7, FILE_DIRECTORY_FILE | FILE_SYNCHRONOUS_IO_NONALERT);
		if (status >= 0) {
			status = old_volume_information(real, io, out, size, class);
			old_close(real);
		}
	} else if (volume && !name && control_is(&call.control, "raw", "unrecognized")) {
		status = STATUS_UNRECOGNIZED_VOLUME;
	} else if (class == FS_ATTRIBUTE) {
		status = fs_attribute(io, out, size, name ? name : "RAW");
	} else if (class == FS_VOLUME) {
		const struct { ULONGLONG created; ULONG serial, length; ULONGLONG rest; } label = {0, volume ? volume->guid.Data1 : 0, 0, 0};
		status = answer_with(io, out, size, &label, 18, 18);
	} else if (class == FS_SIZE || class == FS_FULL_SIZE) {
		const LINE *used = control_find(&call.control, NULL, "used");
		status = fs_size(io, out, size, class, volume ? volume->length : disk_state(&call, disk)->shown, used ? size_of(used->word[1]) : 1 << 20, disk->sector, !name);
	}
	status = leave(&call, status, "class %lu size %lu", class, size);
	set_busy(FALSE);
	return status;
}
