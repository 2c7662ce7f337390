// SPDX-License-Identifier: Apache-2.0
//
// Control codes of a disk as a whole: size, geometry, attributes.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntdddisk/
#include "fake.h"

enum { ATTRIBUTE_OFFLINE = 1, ATTRIBUTE_READ_ONLY = 2 };

// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-get_disk_attributes
typedef struct {
	DWORD version, reserved;
	DWORDLONG attributes;
} ATTRIBUTES;

// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-set_disk_attributes
typedef struct {
	DWORD version;
	BOOLEAN persist;
	BYTE reserved1[3];
	DWORDLONG attributes, mask;
	DWORD reserved2[4];
} SETTING;

_Static_assert(sizeof(ATTRIBUTES) == 16 && sizeof(SETTING) == 40, "sizes that callers give in Version");

static ULONGLONG length_of(REQUEST *r) { return r->volume ? r->volume->length : disk_state(r->call, r->disk)->shown; }

// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntdddisk/ni-ntdddisk-ioctl_disk_get_length_info
static NTSTATUS get_length(REQUEST *r)
{
	GET_LENGTH_INFORMATION length = {.Length.QuadPart = (LONGLONG)length_of(r)};
	return put(r, &length, sizeof length);
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntdddisk/ni-ntdddisk-ioctl_disk_get_drive_geometry
static DISK_GEOMETRY geometry_of(REQUEST *r)
{
	DISK_GEOMETRY geometry = {.MediaType = r->disk->removable ? RemovableMedia : FixedMedia, .TracksPerCylinder = 255, .SectorsPerTrack = 63, .BytesPerSector = r->disk->sector};
	geometry.Cylinders.QuadPart = (LONGLONG)(disk_state(r->call, r->disk)->shown / (255ull * 63 * r->disk->sector));
	return geometry;
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntdddisk/ni-ntdddisk-ioctl_disk_get_drive_geometry_ex: at least the geometry and the
// size, and with room for them the partition style and what was detected.
static NTSTATUS get_geometry_ex(REQUEST *r)
{
	enum { LEAST = offsetof(DISK_GEOMETRY_EX, Data), MOST = LEAST + sizeof(DISK_PARTITION_INFO) + sizeof(DISK_DETECTION_INFO) };
	BYTE answer[MOST] = {0};
	DISK_GEOMETRY_EX *geometry = (DISK_GEOMETRY_EX *)answer;
	DISK_PARTITION_INFO *partition = (DISK_PARTITION_INFO *)geometry->Data;
	geometry->Geometry = geometry_of(r);
	geometry->DiskSize.QuadPart = (LONGLONG)disk_state(r->call, r->disk)->shown;
	if (r->out_size < MOST)
		return put(r, answer, LEAST);
	table_read(r->call, r->disk, r->call->layout);
	partition->SizeOfPartitionInfo = sizeof *partition;
	partition->PartitionStyle = r->call->layout->style;
	if (r->call->layout->style == PARTITION_STYLE_GPT)
		partition->Gpt.DiskId = r->call->layout->id;
	else
		partition->Mbr.Signature = r->call->layout->signature;
	((DISK_DETECTION_INFO *)(partition + 1))->SizeOfDetectInfo = sizeof(DISK_DETECTION_INFO);
	return put(r, answer, MOST);
}

// https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-ioctl_disk_set_disk_attributes. The structure's page wants the size of
// GET_DISK_ATTRIBUTES as Version, 16; programs that set Version as
// other structures of these headers want it give the structure's own, 40. Both are taken, or one of them by the line "attributes-version".
static NTSTATUS set_attributes(REQUEST *r)
{
	SETTING setting;
	static const BYTE zero[16];
	DISK_STATE *state = disk_state(r->call, r->disk);
	if (r->in_size < sizeof setting)
		return refuse(r->call, STATUS_INFO_LENGTH_MISMATCH, "the input buffer has %lu bytes, less than 40", r->in_size);
	memcpy(&setting, r->in, sizeof setting);
	if (setting.version != sizeof setting && setting.version != sizeof(ATTRIBUTES))
		return refuse(r->call, STATUS_INVALID_PARAMETER, "Version %lu is neither the structure's size nor what the page says", setting.version);
	if (control_find(&r->call->control, NULL, "attributes-version") && !control_is(&r->call->control, "attributes-version", setting.version == sizeof setting ? "40" : "16"))
		return STATUS_INVALID_PARAMETER;
	if (memcmp(setting.reserved1, zero, sizeof setting.reserved1) || memcmp(setting.reserved2, zero, sizeof setting.reserved2))
		return refuse(r->call, STATUS_INVALID_PARAMETER, "reserved members are not zero");
	if ((setting.mask | setting.attributes) & ~(DWORDLONG)(ATTRIBUTE_OFFLINE | ATTRIBUTE_READ_ONLY))
		return refuse(r->call, STATUS_INVALID_PARAMETER, "attributes 0x%llx with mask 0x%llx: only offline (1) and read-only (2) exist", setting.attributes, setting.mask);
	if (setting.persist > 1)
		refuse(r->call, 0, "Persist is %u, neither TRUE nor FALSE", setting.persist);
	state->attributes = (state->attributes & ~setting.mask) | (setting.attributes & setting.mask);
	if (setting.persist)
		state->persistent = (state->persistent & ~setting.mask) | (setting.attributes & setting.mask);
	volumes_sync(r->call);
	return STATUS_SUCCESS;
}

static NTSTATUS update_size(REQUEST *r)
{
	disk_state(r->call, r->disk)->shown = r->disk->size;
	return STATUS_SUCCESS;
}

// volumes_ready stands for the wait: the volumes of the disk have arrived when it returns.
// https://learn.microsoft.com/windows/win32/fileio/ioctl-disk-are-volumes-ready
static NTSTATUS volumes_ready(REQUEST *r)
{
	for (ULONG i = 0; i < MAX_VOLUMES; i++)
		if (r->call->state->volume[i].used && r->call->state->volume[i].disk == r->disk->number)
			r->call->state->volume[i].appears = 0;
	return STATUS_SUCCESS;
}

NTSTATUS disk_code(REQUEST *r)
{
	const DISK_STATE *state = disk_state(r->call, r->disk);
	switch (r->code) {
	case IOCTL_DISK_GET_LENGTH_INFO:
		return get_length(r);
	case IOCTL_DISK_GET_DRIVE_GEOMETRY: {
		DISK_GEOMETRY geometry = geometry_of(r);
		return put(r, &geometry, sizeof geometry);
	}
	case IOCTL_DISK_GET_DRIVE_GEOMETRY_EX:
		return get_geometry_ex(r);
	case IOCTL_DISK_IS_WRITABLE: // https://learn.microsoft.com/windows-hardware/drivers/ddi/ntdddisk/ni-ntdddisk-ioctl_disk_is_writable
		return state->attributes & ATTRIBUTE_READ_ONLY ? STATUS_MEDIA_WRITE_PROTECTED : STATUS_SUCCESS;
	}
	if (r->volume)
		return STATUS_NOT_IMPLEMENTED;
	switch (r->code) {
	case IOCTL_DISK_GET_DISK_ATTRIBUTES: {
		ATTRIBUTES attributes = {.version = sizeof attributes, .attributes = state->attributes};
		return put(r, &attributes, sizeof attributes);
	}
	case IOCTL_DISK_SET_DISK_ATTRIBUTES:
		return set_attributes(r);
	case IOCTL_DISK_UPDATE_PROPERTIES: // https://learn.microsoft.com/windows-hardware/drivers/ddi/ntdddisk/ni-ntdddisk-ioctl_disk_update_properties
		return update_size(r);
	case IOCTL_DISK_ARE_VOLUMES_READY:
		return volumes_ready(r);
	case IOCTL_DISK_UPDATE_DRIVE_SIZE: {
		DISK_GEOMETRY geometry = geometry_of(r);
		update_size(r);
		return put(r, &geometry, sizeof geometry);
	}
	}
	return STATUS_NOT_IMPLEMENTED;
}
