// SPDX-License-Identifier: Apache-2.0
//
// Control codes of partition tables.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-drive_layout_information_ex
#include "fake.h"

enum { LAYOUT_HEADER = offsetof(DRIVE_LAYOUT_INFORMATION_EX, PartitionEntry), LAYOUT_ENTRY = sizeof(PARTITION_INFORMATION_EX) };

_Static_assert(LAYOUT_HEADER == 48 && LAYOUT_ENTRY == 144, "Windows' sizes");

static PARTITION_INFORMATION_EX information_of(const DISK *disk, const LAYOUT *layout, const PARTITION *partition, ULONG number)
{
	PARTITION_INFORMATION_EX information = {.PartitionStyle = layout->style, .PartitionNumber = number};
	information.StartingOffset.QuadPart = (LONGLONG)partition->offset;
	information.PartitionLength.QuadPart = (LONGLONG)partition->length;
	if (layout->style == PARTITION_STYLE_GPT) {
		information.Gpt.PartitionType = partition->type;
		information.Gpt.PartitionId = partition->id;
		information.Gpt.Attributes = partition->attributes;
		memcpy(information.Gpt.Name, partition->name, sizeof partition->name);
	} else {
		information.Mbr.PartitionType = partition->mbr_type;
		information.Mbr.BootIndicator = partition->boot;
		information.Mbr.RecognizedPartition = partition->mbr_type == 7 || partition->mbr_type == 0x0b || partition->mbr_type == 0x0c || partition->mbr_type == 6 || partition->mbr_type == 0x0e;
		information.Mbr.HiddenSectors = (DWORD)(partition->offset / disk->sector);
	}
	return information;
}

// fill_layout writes the structure. An MBR has an entry for each of its four places.
static NTSTATUS fill_layout(REQUEST *r, const LAYOUT *layout)
{
	const ULONG count = layout->style == PARTITION_STYLE_MBR ? 4 : layout->count;
	const ULONG needed = LAYOUT_HEADER + LAYOUT_ENTRY * count;
	if (r->out_size < needed || r->out_size < sizeof(DRIVE_LAYOUT_INFORMATION_EX))
		return control_is(&r->call->control, "layout-small", "mismatch") ? STATUS_INFO_LENGTH_MISMATCH : STATUS_BUFFER_TOO_SMALL;
	DRIVE_LAYOUT_INFORMATION_EX *answer = (DRIVE_LAYOUT_INFORMATION_EX *)r->out;
	ZeroMemory(answer, needed);
	answer->PartitionStyle = layout->style;
	answer->PartitionCount = count;
	if (layout->style == PARTITION_STYLE_GPT) {
		answer->Gpt.DiskId = layout->id;
		answer->Gpt.StartingUsableOffset.QuadPart = (LONGLONG)layout->first;
		answer->Gpt.UsableLength.QuadPart = (LONGLONG)layout->usable;
		answer->Gpt.MaxPartitionCount = layout->most;
	} else if (layout->style == PARTITION_STYLE_MBR) {
		answer->Mbr.Signature = layout->signature;
		for (ULONG i = 0; i < 4; i++)
			answer->PartitionEntry[i].PartitionStyle = PARTITION_STYLE_MBR;
	}
	for (ULONG i = 0; i < layout->count; i++)
		answer->PartitionEntry[layout->style == PARTITION_STYLE_MBR ? layout->partition[i].index : i] = information_of(r->disk, layout, &layout->partition[i], i + 1);
	r->information = needed;
	return STATUS_SUCCESS;
}

// may_write judges what the pages leave open: a table written on an offline disk. The line "offline-layout writes" is the other reading.
static NTSTATUS may_write(REQUEST *r)
{
	const ULONGLONG attributes = disk_state(r->call, r->disk)->attributes;
	if (attributes & 2)
		return refuse(r->call, STATUS_MEDIA_WRITE_PROTECTED, "the disk is read-only");
	if (attributes & 1) {
		refuse(r->call, 0, "the disk is offline");
		return control_is(&r->call->control, "offline-layout", "writes") ? STATUS_SUCCESS : STATUS_DEVICE_NOT_READY;
	}
	return STATUS_SUCCESS;
}

static void limit(REQUEST *r, LAYOUT *layout)
{
	const ULONGLONG size = disk_state(r->call, r->disk)->shown;
	if (layout->style == PARTITION_STYLE_GPT)
		layout->usable = size - layout->first - (layout->first - r->disk->sector);
	else
		layout->usable = min(size, 0x100000000ull * r->disk->sector) - layout->first;
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntdddisk/ni-ntdddisk-ioctl_disk_create_disk
static NTSTATUS create_disk(REQUEST *r)
{
	LAYOUT *layout = r->call->layout;
	CREATE_DISK wanted;
	NTSTATUS status = may_write(r);
	if (status < 0)
		return status;
	if (r->in_size < sizeof wanted)
		return refuse(r->call, STATUS_INFO_LENGTH_MISMATCH, "the input buffer has %lu bytes, less than %lu", r->in_size, (ULONG)sizeof wanted);
	memcpy(&wanted, r->in, sizeof wanted);
	if (wanted.PartitionStyle == PARTITION_STYLE_RAW)
		return table_erase(r->call, r->disk);
	if (wanted.PartitionStyle > PARTITION_STYLE_RAW)
		return refuse(r->call, STATUS_NOT_SUPPORTED, "partition style %d", wanted.PartitionStyle);
	table_erase(r->call, r->disk);
	table_empty(r->disk, layout, wanted.PartitionStyle, wanted.Gpt.MaxPartitionCount);
	if (layout->most > MAX_PARTITIONS)
		return refuse(r->call, STATUS_NOT_SUPPORTED, "the fake has at most %d partitions", MAX_PARTITIONS);
	layout->id = wanted.Gpt.DiskId;
	layout->signature = wanted.Mbr.Signature;
	if (wanted.PartitionStyle == PARTITION_STYLE_GPT && !memcmp(&layout->id, &type_none, sizeof layout->id))
		refuse(r->call, 0, "DiskId is zero");
	// https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-ioctl_disk_set_drive_layout_ex: callers wait for the arrival of the MSR.
	if (wanted.PartitionStyle == PARTITION_STYLE_GPT && !control_is(&r->call->control, "msr", "none")) {
		PARTITION *reserved = &layout->partition[layout->count++];
		reserved->type = type_reserved;
		new_guid(&reserved->id);
		reserved->offset = layout->first;
		reserved->length = (16 << 20) - layout->first;
		wcscpy(reserved->name, L"Microsoft reserved partition");
	}
	return table_write(r->call, r->disk, layout);
}

// take judges one entry and takes it into the layout.
static NTSTATUS take(REQUEST *r, LAYOUT *layout, const PARTITION_INFORMATION_EX *entry, ULONG place)
{
	PARTITION *partition = &layout->partition[layout->count];
	const BOOL gpt = layout->style == PARTITION_STYLE_GPT;
	if (gpt ? !memcmp(&entry->Gpt.PartitionType, &type_none, sizeof type_none) : entry->Mbr.PartitionType == 0)
		return STATUS_SUCCESS; // unused
	if (entry->PartitionStyle != layout->style)
		return refuse(r->call, STATUS_INVALID_PARAMETER, "entry %lu has another style than the table", place);
	ZeroMemory(partition, sizeof *partition);
	partition->index = place;
	partition->offset = (ULONGLONG)entry->StartingOffset.QuadPart;
	partition->length = (ULONGLONG)entry->PartitionLength.QuadPart;
	partition->type = gpt ? entry->Gpt.PartitionType : type_none;
	partition->id = gpt ? entry->Gpt.PartitionId : type_none;
	partition->attributes = gpt ? entry->Gpt.Attributes : 0;
	partition->mbr_type = gpt ? 0 : entry->Mbr.PartitionType;
	partition->boot = !gpt && entry->Mbr.BootIndicator;
	if (gpt)
		memcpy(partition->name, entry->Gpt.Name, sizeof partition->name);
	if (partition->length == 0 || partition->offset % r->disk->sector || partition->length % r->disk->sector)
		return refuse(r->call, STATUS_INVALID_PARAMETER, "entry %lu: offset %llu and length %llu are not whole sectors", place, partition->offset, partition->length);
	if (partition->offset < layout->first || partition->offset + partition->length > layout->first + layout->usable)
		return refuse(r->call, STATUS_INVALID_PARAMETER, "entry %lu is outside of the usable range", place);
	for (ULONG i = 0; i < layout->count; i++) {
		const PARTITION *other = &layout->partition[i];
		if (partition->offset < other->offset + other->length && other->offset < partition->offset + partition->length)
			return refuse(r->call, STATUS_INVALID_PARAMETER, "entries %lu and %lu overlap", other->index, place);
		if (gpt && !memcmp(&partition->id, &other->id, sizeof other->id))
			return refuse(r->call, STATUS_INVALID_PARAMETER, "entries %lu and %lu have one PartitionId", other->index, place);
	}
	if (gpt && !memcmp(&partition->id, &type_none, sizeof type_none)) {
		refuse(r->call, 0, "entry %lu has no PartitionId", place);
		new_guid(&partition->id);
	}
	layout->count++;
	return STATUS_SUCCESS;
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntdddisk/ni-ntdddisk-ioctl_disk_set_drive_layout_ex
static NTSTATUS set_layout(REQUEST *r)
{
	const DRIVE_LAYOUT_INFORMATION_EX *wanted = (const DRIVE_LAYOUT_INFORMATION_EX *)r->in;
	LAYOUT *now = r->call->layout, *layout;
	NTSTATUS status = may_write(r);
	if (status < 0)
		return status;
	if (r->in_size < sizeof *wanted)
		return refuse(r->call, STATUS_INFO_LENGTH_MISMATCH, "the input buffer has %lu bytes, less than %lu", r->in_size, (ULONG)sizeof *wanted);
	if (wanted->PartitionCount > MAX_PARTITIONS || r->in_size < LAYOUT_HEADER + LAYOUT_ENTRY * wanted->PartitionCount)
		return refuse(r->call, STATUS_INFO_LENGTH_MISMATCH, "the input buffer has %lu bytes, too few for %lu entries", r->in_size, wanted->PartitionCount);
	table_read(r->call, r->disk, now);
	if (now->style != (PARTITION_STYLE)wanted->PartitionStyle)
		return refuse(r->call, STATUS_INVALID_PARAMETER, "a table of style %lu on a disk of style %d", wanted->PartitionStyle, now->style);
	if (now->style == PARTITION_STYLE_RAW)
		return refuse(r->call, STATUS_INVALID_PARAMETER, "the disk has no partition table");
	if (now->style == PARTITION_STYLE_MBR && wanted->PartitionCount % 4)
		return refuse(r->call, STATUS_INVALID_PARAMETER, "%lu entries: those of an MBR come in fours", wanted->PartitionCount);
	layout = calloc(1, sizeof *layout);
	table_empty(r->disk, layout, now->style, now->most);
	layout->id = now->style == PARTITION_STYLE_GPT ? wanted->Gpt.DiskId : type_none;
	layout->signature = now->style == PARTITION_STYLE_MBR ? wanted->Mbr.Signature : 0;
	if (now->style == PARTITION_STYLE_GPT && !memcmp(&layout->id, &type_none, sizeof type_none)) {
		refuse(r->call, 0, "DiskId is zero");
		layout->id = now->id;
	}
	limit(r, layout);
	for (ULONG i = 0; status >= 0 && i < wanted->PartitionCount; i++)
		status = take(r, layout, &wanted->PartitionEntry[i], i);
	if (status >= 0)
		status = table_write(r->call, r->disk, layout);
	if (status >= 0 && r->out_size >= sizeof *wanted)
		fill_layout(r, layout);
	free(layout);
	return status;
}

// https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-ioctl_disk_grow_partition
static NTSTATUS grow(REQUEST *r)
{
	LAYOUT *layout = r->call->layout;
	DISK_GROW_PARTITION wanted;
	NTSTATUS status = may_write(r);
	if (status < 0)
		return status;
	if (r->in_size < sizeof wanted)
		return refuse(r->call, STATUS_INFO_LENGTH_MISMATCH, "the input buffer has %lu bytes, less than %lu", r->in_size, (ULONG)sizeof wanted);
	memcpy(&wanted, r->in, sizeof wanted);
	table_read(r->call, r->disk, layout);
	if (wanted.PartitionNumber < 1 || wanted.PartitionNumber > layout->count || wanted.BytesToGrow.QuadPart < 0)
		return refuse(r->call, STATUS_INVALID_PARAMETER, "partition %lu by %lld bytes", wanted.PartitionNumber, wanted.BytesToGrow.QuadPart);
	limit(r, layout);
	PARTITION *partition = &layout->partition[wanted.PartitionNumber - 1];
	const ULONGLONG length = partition->length + (ULONGLONG)(wanted.BytesToGrow.QuadPart / r->disk->sector * r->disk->sector);
	BOOL fits = partition->offset + length <= layout->first + layout->usable;
	for (ULONG i = 0; i < layout->count; i++)
		fits = fits && (layout->partition[i].offset <= partition->offset || layout->partition[i].offset >= partition->offset + length);
	if (!fits)
		return refuse(r->call, STATUS_INVALID_PARAMETER, "partition %lu by %lld bytes: there is no such room behind it", wanted.PartitionNumber, wanted.BytesToGrow.QuadPart);
	partition->length = length;
	return table_write(r->call, r->disk, layout);
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntdddisk/ni-ntdddisk-ioctl_disk_get_partition_info_ex: number 0 is the whole disk.
static NTSTATUS get_partition(REQUEST *r)
{
	LAYOUT *layout = r->call->layout;
	PARTITION_INFORMATION_EX information = {0};
	table_read(r->call, r->disk, layout);
	if (r->volume) {
		if (r->volume->partition > layout->count)
			return STATUS_DEVICE_DOES_NOT_EXIST;
		information = information_of(r->disk, layout, &layout->partition[r->volume->partition - 1], r->volume->partition);
	} else {
		information.PartitionStyle = layout->style;
		information.PartitionLength.QuadPart = (LONGLONG)disk_state(r->call, r->disk)->shown;
	}
	return put(r, &information, sizeof information);
}

static NTSTATUS delete_layout(REQUEST *r)
{
	NTSTATUS status = may_write(r);
	return status < 0 ? status : table_erase(r->call, r->disk);
}

NTSTATUS layout_code(REQUEST *r)
{
	if (r->code == IOCTL_DISK_GET_PARTITION_INFO_EX)
		return get_partition(r);
	if (r->volume)
		return STATUS_NOT_IMPLEMENTED;
	NTSTATUS status = STATUS_NOT_IMPLEMENTED;
	switch (r->code) {
	case IOCTL_DISK_GET_DRIVE_LAYOUT_EX:
		table_read(r->call, r->disk, r->call->layout);
		return fill_layout(r, r->call->layout);
	case IOCTL_DISK_SET_DRIVE_LAYOUT_EX:
		status = set_layout(r);
		break;
	case IOCTL_DISK_CREATE_DISK:
		status = create_disk(r);
		break;
	case IOCTL_DISK_DELETE_DRIVE_LAYOUT:
		status = delete_layout(r);
		break;
	case IOCTL_DISK_GROW_PARTITION:
		status = grow(r);
		break;
	}
	if (status == STATUS_SUCCESS)
		volumes_sync(r->call);
	return status;
}
