// SPDX-License-Identifier: Apache-2.0
//
// Control codes of volumes, of the mount manager's clients, and of file systems.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddvol/ and https://learn.microsoft.com/windows-hardware/drivers/ddi/mountmgr/
#include "fake.h"

// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddvol/ni-ntddvol-ioctl_volume_get_volume_disk_extents
static NTSTATUS disk_extents(REQUEST *r)
{
	DISK_EXTENT extents[8];
	VOLUME_DISK_EXTENTS *answer = (VOLUME_DISK_EXTENTS *)r->out;
	if (r->out_size < sizeof *answer)
		return refuse(r->call, STATUS_INVALID_PARAMETER, "the output buffer has %lu bytes, less than %lu", r->out_size, (ULONG)sizeof *answer);
	const ULONG count = extents_of(r->call, r->volume, extents, ARRAYSIZE(extents));
	const ULONG needed = offsetof(VOLUME_DISK_EXTENTS, Extents) + count * sizeof *extents;
	answer->NumberOfDiskExtents = count;
	if (r->out_size < needed) {
		answer->Extents[0] = extents[0];
		r->information = sizeof *answer;
		return STATUS_BUFFER_OVERFLOW;
	}
	memcpy(answer->Extents, extents, count * sizeof *extents);
	r->information = needed;
	return STATUS_SUCCESS;
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/mountmgr/ni-mountmgr-ioctl_mountdev_query_device_name
static NTSTATUS device_name(REQUEST *r)
{
	struct { USHORT length; WCHAR name[64]; } answer;
	const int n = _snwprintf(answer.name, ARRAYSIZE(answer.name), L"\\Device\\HarddiskVolume%lu", r->volume->number);
	const ULONG needed = (ULONG)(sizeof answer.length + n * sizeof(WCHAR));
	answer.length = (USHORT)(n * sizeof(WCHAR));
	if (r->out_size < 4) // sizeof(MOUNTDEV_NAME)
		return refuse(r->call, STATUS_INVALID_PARAMETER, "the output buffer has %lu bytes, less than a MOUNTDEV_NAME", r->out_size);
	memcpy(r->out, &answer, min(needed, r->out_size));
	r->information = r->out_size < needed ? 4 : needed;
	return r->out_size < needed ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS;
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/mountmgr/ni-mountmgr-ioctl_mountdev_query_unique_id: for GPT "DMIO:ID:" and the
// partition's GUID.
static NTSTATUS unique_id(REQUEST *r)
{
	struct { USHORT length; BYTE id[24]; } answer = {24, "DMIO:ID:"};
	memcpy(answer.id + 8, &r->volume->id, sizeof r->volume->id);
	if (r->out_size < 4)
		return refuse(r->call, STATUS_INVALID_PARAMETER, "the output buffer has %lu bytes, less than a MOUNTDEV_UNIQUE_ID", r->out_size);
	memcpy(r->out, &answer, min(sizeof answer, r->out_size));
	r->information = r->out_size < sizeof answer ? 4 : sizeof answer;
	return r->out_size < sizeof answer ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS;
}

static NTSTATUS gpt_attributes(REQUEST *r)
{
	VOLUME_GET_GPT_ATTRIBUTES_INFORMATION attributes = {r->volume->attributes};
	table_read(r->call, r->disk, r->call->layout);
	if (r->call->layout->style != PARTITION_STYLE_GPT)
		return STATUS_INVALID_DEVICE_REQUEST;
	return put(r, &attributes, sizeof attributes);
}

NTSTATUS volume_code(REQUEST *r)
{
	if (!r->volume)
		return STATUS_NOT_IMPLEMENTED;
	switch (r->code) {
	case IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS:
		return disk_extents(r);
	case IOCTL_VOLUME_GET_GPT_ATTRIBUTES: // https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddvol/ni-ntddvol-ioctl_volume_get_gpt_attributes
		return gpt_attributes(r);
	case IOCTL_VOLUME_ONLINE: // https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddvol/ni-ntddvol-ioctl_volume_online
		r->volume->offline = FALSE;
		return STATUS_SUCCESS;
	case IOCTL_VOLUME_OFFLINE: // https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddvol/ni-ntddvol-ioctl_volume_offline
		r->volume->offline = TRUE;
		return STATUS_SUCCESS;
	case IOCTL_VOLUME_IS_OFFLINE: // https://learn.microsoft.com/windows-hardware/drivers/ddi/ntddvol/ni-ntddvol-ioctl_volume_is_offline
		return r->volume->offline ? STATUS_SUCCESS : STATUS_UNSUCCESSFUL;
	case IOCTL_MOUNTDEV_QUERY_UNIQUE_ID:
		return unique_id(r);
	case IOCTL_MOUNTDEV_QUERY_DEVICE_NAME:
		return device_name(r);
	case IOCTL_MOUNTDEV_QUERY_STABLE_GUID:
		return put(r, &r->volume->id, sizeof r->volume->id);
	}
	return STATUS_NOT_IMPLEMENTED;
}

// https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_lock_volume: only without other open handles.
static NTSTATUS lock_volume(REQUEST *r)
{
	if (!r->volume)
		return STATUS_SUCCESS; // the whole disk, on which no file is open
	if (r->open->locked || r->volume->locked_by || other_handles(r->volume) > 1)
		return STATUS_ACCESS_DENIED;
	r->volume->locked_by = GetCurrentProcessId();
	r->open->locked = TRUE;
	return STATUS_SUCCESS;
}

// https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_unlock_volume
static NTSTATUS unlock_volume(REQUEST *r)
{
	if (!r->volume)
		return STATUS_SUCCESS;
	if (!r->open->locked)
		return refuse(r->call, STATUS_NOT_LOCKED, "this handle has not locked the volume");
	r->volume->locked_by = 0;
	r->open->locked = FALSE;
	return STATUS_SUCCESS;
}

// extend grows the file system to a number of sectors, which the volume must have.
// https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_extend_volume
static NTSTATUS extend_volume(REQUEST *r)
{
	LONGLONG wanted;
	if (!r->volume || !file_system(r->call, r->volume))
		return STATUS_INVALID_DEVICE_REQUEST;
	if (r->in_size < sizeof wanted)
		return refuse(r->call, STATUS_INVALID_PARAMETER, "the input buffer has %lu bytes, less than 8", r->in_size);
	memcpy(&wanted, r->in, sizeof wanted);
	if (wanted < 0 || (ULONGLONG)wanted > r->volume->length / r->disk->sector)
		return refuse(r->call, STATUS_INVALID_PARAMETER, "%lld sectors are more than the volume has", wanted);
	r->volume->extended = (ULONGLONG)wanted * r->disk->sector - r->disk->sector;
	return STATUS_SUCCESS;
}

// What the file system says of itself: as long as it was made, which is as long as the partition was then, but for the spare boot sector.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-ntfs_volume_data_buffer
static NTSTATUS ntfs_data(REQUEST *r)
{
	NTFS_VOLUME_DATA_BUFFER data = {0};
	const char *name = r->volume ? file_system(r->call, r->volume) : NULL;
	if (!name || strcmp(name, "NTFS"))
		return STATUS_INVALID_DEVICE_REQUEST;
	const ULONGLONG size = r->volume->extended ? r->volume->extended : r->volume->length - r->disk->sector;
	data.BytesPerSector = r->disk->sector;
	data.BytesPerCluster = 4096;
	data.BytesPerFileRecordSegment = 1024;
	data.NumberSectors.QuadPart = (LONGLONG)(size / r->disk->sector);
	data.TotalClusters.QuadPart = (LONGLONG)(size / 4096);
	data.FreeClusters.QuadPart = data.TotalClusters.QuadPart / 2;
	return put(r, &data, sizeof data);
}

NTSTATUS file_system_code(REQUEST *r)
{
	switch (r->code) {
	case FSCTL_LOCK_VOLUME:
		return lock_volume(r);
	case FSCTL_UNLOCK_VOLUME:
		return unlock_volume(r);
	case FSCTL_DISMOUNT_VOLUME: // https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_dismount_volume
		if (r->volume)
			r->volume->dismounted = TRUE;
		return STATUS_SUCCESS;
	case FSCTL_IS_VOLUME_MOUNTED: // https://learn.microsoft.com/windows-hardware/drivers/ifs/fsctl-is-volume-mounted
		return r->volume && r->volume->dismounted ? STATUS_VOLUME_DISMOUNTED : STATUS_SUCCESS;
	case FSCTL_ALLOW_EXTENDED_DASD_IO:
		return STATUS_SUCCESS;
	case FSCTL_GET_NTFS_VOLUME_DATA:
		return ntfs_data(r);
	case FSCTL_EXTEND_VOLUME:
		return extend_volume(r);
	}
	return STATUS_NOT_IMPLEMENTED;
}
