// SPDX-License-Identifier: Apache-2.0
//
// Control codes on their way to a device: what the I/O manager and the drivers in common do.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/nf-ntifs-ntdeviceiocontrolfile
#include "fake.h"

control_function old_device_control, old_fs_control;

// put answers a structure, or STATUS_BUFFER_TOO_SMALL.
NTSTATUS put(REQUEST *r, const void *data, ULONG size)
{
	if (r->out_size < size)
		return refuse(r->call, STATUS_BUFFER_TOO_SMALL, "the output buffer has %lu bytes, less than %lu", r->out_size, size);
	memcpy(r->out, data, size);
	r->information = size;
	return STATUS_SUCCESS;
}

static NTSTATUS dispatch(REQUEST *r)
{
	static NTSTATUS (*const families[])(REQUEST *) = {disk_code, layout_code, storage_code, volume_code, file_system_code};
	for (size_t i = 0; i < ARRAYSIZE(families); i++) {
		NTSTATUS status = families[i](r);
		if (status != STATUS_NOT_IMPLEMENTED)
			return status;
	}
	return refuse(r->call, STATUS_INVALID_DEVICE_REQUEST, "the fake does not know this control code (0x%lx) here", r->code);
}

// admit does what comes before the driver: https://learn.microsoft.com/windows-hardware/drivers/kernel/defining-i-o-control-codes, where
// RequiredAccess is told, and the devices that are gone.
static NTSTATUS admit(REQUEST *r)
{
	ULONG answer;
	if (answers(r->call, "answer", &answer) || answers(r->call, "once", &answer))
		return (NTSTATUS)answer;
	if ((r->code >> 14 & FILE_READ_ACCESS && !(r->open->access & FILE_READ_DATA)) || (r->code >> 14 & FILE_WRITE_ACCESS && !(r->open->access & FILE_WRITE_DATA)))
		return refuse(r->call, STATUS_ACCESS_DENIED, "a handle with access 0x%lx", r->open->access);
	if (!r->disk || !r->disk->there || (r->volume && !r->volume->there))
		return STATUS_DEVICE_DOES_NOT_EXIST;
	return dispatch(r);
}

// buffered runs a control code of METHOD_BUFFERED, which all of ours are: one buffer of the system for both directions.
static NTSTATUS buffered(CALL *call, OPEN *open, ULONG code, const void *in, ULONG in_size, void *out, ULONG out_size, ULONG *information)
{
	REQUEST r = {.call = call, .open = open, .code = code, .in_size = in_size, .out_size = out_size};
	if (open->kind == VOLUME_DEVICE)
		r.volume = &call->state->volume[open->volume];
	r.disk = disk_of(call, open->disk);
	r.in = calloc(1, in_size + 1);
	r.out = calloc(1, out_size + 1);
	if (in && in_size)
		memcpy(r.in, in, in_size);
	NTSTATUS status = admit(&r);
	if (!NT_ERROR(status) && out && r.information)
		memcpy(out, r.out, min(out_size, r.information));
	*information = r.information;
	free(r.in);
	free(r.out);
	return status;
}

static void object_of(const OPEN *open, const CALL *call, char text[32])
{
	if (open->kind == DISK_DEVICE)
		snprintf(text, 32, "disk-%lu", open->disk);
	else if (open->kind == VOLUME_DEVICE)
		snprintf(text, 32, "volume-%lu.%lu", open->disk, call ? call->state->volume[open->volume].partition : 0);
	else
		*text = 0;
}

static NTSTATUS control(OPEN *open, HANDLE event, void *apc, void *context, IO_STATUS_BLOCK *io, ULONG code, void *in, ULONG in_size, void *out, ULONG out_size)
{
	CALL call;
	char other[16], object[32];
	ULONG information = 0;
	NTSTATUS status;
	set_busy(TRUE);
	object_of(open, NULL, object);
	enter(&call, code_name(code, other), object);
	object_of(open, &call, call.object);
	if (open->kind == MOUNT_MANAGER)
		status = mount_manager_code(&call, open->handle, code, in, in_size, out, out_size, &information);
	else
		status = buffered(&call, open, code, in, in_size, out, out_size, &information);
	status = leave(&call, status, "in %lu out %lu", in_size, out_size);
	handle_change(open);
	set_busy(FALSE);
	return complete(open, io, event, apc, context, status, information);
}

NTSTATUS WINAPI disks_device_control(HANDLE h, HANDLE event, void *apc, void *context, IO_STATUS_BLOCK *io, ULONG code, void *in, ULONG in_size, void *out, ULONG out_size)
{
	OPEN open;
	if (busy() || !handle_get(h, &open) || (open.kind == MOUNT_MANAGER && code != IOCTL_MOUNTMGR_QUERY_POINTS))
		return old_device_control(h, event, apc, context, io, code, in, in_size, out, out_size);
	if (open.kind == VOLUME_FILE)
		return STATUS_INVALID_PARAMETER; // a file system takes a device's codes for the volume's own handle alone
	return control(&open, event, apc, context, io, code, in, in_size, out, out_size);
}

NTSTATUS WINAPI disks_fs_control(HANDLE h, HANDLE event, void *apc, void *context, IO_STATUS_BLOCK *io, ULONG code, void *in, ULONG in_size, void *out, ULONG out_size)
{
	OPEN open;
	if (busy() || !handle_get(h, &open) || open.kind == VOLUME_FILE || open.kind == MOUNT_MANAGER)
		return old_fs_control(h, event, apc, context, io, code, in, in_size, out, out_size);
	return control(&open, event, apc, context, io, code, in, in_size, out, out_size);
}

#define CODE(name) {name, #name}

// code_name returns the name of a control code, by which control.txt and calls.txt name it.
const char *code_name(ULONG code, char other[16])
{
	static const struct { ULONG code; const char *name; } names[] = {
		CODE(IOCTL_DISK_GET_DRIVE_GEOMETRY), CODE(IOCTL_DISK_GET_DRIVE_GEOMETRY_EX), CODE(IOCTL_DISK_GET_LENGTH_INFO), CODE(IOCTL_DISK_GET_DISK_ATTRIBUTES),
		CODE(IOCTL_DISK_SET_DISK_ATTRIBUTES), CODE(IOCTL_DISK_GET_DRIVE_LAYOUT_EX), CODE(IOCTL_DISK_SET_DRIVE_LAYOUT_EX), CODE(IOCTL_DISK_CREATE_DISK),
		CODE(IOCTL_DISK_DELETE_DRIVE_LAYOUT), CODE(IOCTL_DISK_UPDATE_PROPERTIES), CODE(IOCTL_DISK_UPDATE_DRIVE_SIZE), CODE(IOCTL_DISK_GET_PARTITION_INFO_EX),
		CODE(IOCTL_DISK_IS_WRITABLE), CODE(IOCTL_DISK_ARE_VOLUMES_READY), CODE(IOCTL_DISK_GROW_PARTITION), CODE(IOCTL_STORAGE_GET_DEVICE_NUMBER), CODE(IOCTL_STORAGE_GET_DEVICE_NUMBER_EX),
		CODE(IOCTL_STORAGE_QUERY_PROPERTY), CODE(IOCTL_STORAGE_CHECK_VERIFY), CODE(IOCTL_STORAGE_CHECK_VERIFY2), CODE(IOCTL_STORAGE_GET_HOTPLUG_INFO),
		CODE(IOCTL_SCSI_GET_ADDRESS), CODE(IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS), CODE(IOCTL_VOLUME_GET_GPT_ATTRIBUTES), CODE(IOCTL_VOLUME_ONLINE), CODE(IOCTL_VOLUME_OFFLINE),
		CODE(IOCTL_VOLUME_IS_OFFLINE), CODE(IOCTL_MOUNTDEV_QUERY_UNIQUE_ID), CODE(IOCTL_MOUNTDEV_QUERY_DEVICE_NAME), CODE(IOCTL_MOUNTDEV_QUERY_STABLE_GUID),
		CODE(IOCTL_MOUNTMGR_QUERY_POINTS), CODE(FSCTL_LOCK_VOLUME), CODE(FSCTL_UNLOCK_VOLUME), CODE(FSCTL_DISMOUNT_VOLUME), CODE(FSCTL_IS_VOLUME_MOUNTED),
		CODE(FSCTL_ALLOW_EXTENDED_DASD_IO), CODE(FSCTL_EXTEND_VOLUME), CODE(FSCTL_GET_NTFS_VOLUME_DATA)};
	for (size_t i = 0; i < ARRAYSIZE(names); i++)
		if (names[i].code == code)
			return names[i].name;
	snprintf(other, 16, "0x%lx", code);
	return other;
}
