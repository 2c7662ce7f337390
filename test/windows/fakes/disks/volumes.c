// SPDX-License-Identifier: Apache-2.0
//
// The volumes: one for each partition of each online disk that is neither reserved nor hidden, found again by its place and identifier.
#include "fake.h"

enum { EXTENDED = 0x05, EXTENDED_LBA = 0x0f, LDM = 0x42 };

#define ATTRIBUTE_HIDDEN 0x4000000000000000ull // GPT_BASIC_DATA_ATTRIBUTE_HIDDEN

static BOOL same(const GUID *a, const GUID *b) { return !memcmp(a, b, sizeof *a); }

// has_volume reports whether the volume manager makes a volume of a partition. A hidden one has no name in the mount manager.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-partition_information_gpt
static BOOL has_volume(const LAYOUT *layout, const PARTITION *partition)
{
	if (layout->style == PARTITION_STYLE_MBR)
		return partition->mbr_type != EXTENDED && partition->mbr_type != EXTENDED_LBA && partition->mbr_type != LDM;
	return !same(&partition->type, &type_reserved) && !(partition->attributes & ATTRIBUTE_HIDDEN);
}

// second reports whether a line "spans DISK PARTITION DISK PARTITION" makes the partition part of another's volume.
static BOOL is_second(const CALL *call, ULONG disk, ULONG partition)
{
	for (const LINE *line = control_find(&call->control, NULL, "spans"); line; line = control_find(&call->control, line, "spans"))
		if (line->words > 4 && strtoul(line->word[3], NULL, 0) == disk && strtoul(line->word[4], NULL, 0) == partition)
			return TRUE;
	return FALSE;
}

static VOLUME *place_of(STATE *state, ULONG disk, const PARTITION *partition)
{
	VOLUME *unused = NULL;
	for (VOLUME *volume = state->volume; volume < state->volume + MAX_VOLUMES; volume++) {
		if (volume->used && volume->disk == disk && volume->offset == partition->offset && same(&volume->id, &partition->id))
			return volume;
		if (!volume->used && !unused)
			unused = volume;
	}
	return unused;
}

// name_volume gives a new volume its GUID. The mount manager takes a GPT partition's own:
// https://learn.microsoft.com/windows-hardware/drivers/ddi/mountmgr/ni-mountmgr-ioctl_mountdev_query_stable_guid
static void name_volume(CALL *call, const DISK *disk, const LAYOUT *layout, VOLUME *volume)
{
	WCHAR name[64];
	if (layout->style == PARTITION_STYLE_GPT && !control_is(&call->control, "volume-guid", "own"))
		volume->guid = volume->id;
	else
		new_guid(&volume->guid);
	// The system's volume is Wine's own drive C.
	if (disk->is_system && volume->partition == layout->count && GetVolumeNameForVolumeMountPointW(L"C:\\", name, ARRAYSIZE(name)))
		volume->is_own = parse_guid(wcschr(name, '{'), &volume->guid);
}

static void make_marker(const VOLUME *volume)
{
	WCHAR path[MAX_PATH], text[39];
	guid_text(&volume->guid, text);
	_snwprintf(path, MAX_PATH, FOLDER L"open\\volume-%ls", text);
	HANDLE marker = CreateFileW(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_ALWAYS, 0, NULL);
	if (marker != INVALID_HANDLE_VALUE)
		CloseHandle(marker);
}

static void see(CALL *call, const DISK *disk, const LAYOUT *layout, const PARTITION *partition, ULONG number)
{
	VOLUME *volume = place_of(call->state, disk->number, partition);
	if (!volume)
		return;
	if (!volume->used) {
		const LINE *late = control_find(&call->control, NULL, "volumes-late");
		ZeroMemory(volume, sizeof *volume);
		volume->used = TRUE;
		volume->disk = disk->number;
		volume->partition = number;
		volume->offset = partition->offset;
		volume->id = partition->id;
		volume->number = ++call->state->next_volume;
		volume->appears = late ? strtoul(late->word[1], NULL, 0) : 0;
		name_volume(call, disk, layout, volume);
		make_marker(volume);
	}
	volume->there = TRUE;
	volume->partition = number;
	if (!file_system(call, volume))
		volume->extended = 0;
	else if (!volume->extended)
		volume->extended = partition->length - disk->sector;
	volume->length = partition->length;
	volume->attributes = partition->attributes;
}

// make_system writes what a system disk has: an EFI system partition, a reserved one and drive C.
static void make_system(CALL *call, const DISK *disk)
{
	LAYOUT *layout = calloc(1, sizeof *layout);
	const ULONGLONG megabyte = 1 << 20;
	const struct { const GUID *type; ULONGLONG offset, length; const WCHAR *name; } parts[] = {
		{&type_system, megabyte, 100 * megabyte, L"EFI system partition"}, {&type_reserved, 101 * megabyte, 16 * megabyte, L"Microsoft reserved partition"},
		{&type_basic, 117 * megabyte, disk->size - 119 * megabyte, L"Basic data partition"}};
	table_read(call, disk, layout);
	if (layout->style == PARTITION_STYLE_RAW) {
		table_empty(disk, layout, PARTITION_STYLE_GPT, 128);
		new_guid(&layout->id);
		for (ULONG i = 0; i < ARRAYSIZE(parts); i++) {
			PARTITION *partition = &layout->partition[layout->count++];
			partition->index = i;
			partition->type = *parts[i].type;
			partition->offset = parts[i].offset;
			partition->length = parts[i].length & ~(megabyte - 1);
			new_guid(&partition->id);
			wcscpy(partition->name, parts[i].name);
		}
		table_write(call, disk, layout);
	}
	free(layout);
}

void volumes_sync(CALL *call)
{
	for (int i = 0; i < MAX_VOLUMES; i++)
		call->state->volume[i].there = FALSE;
	for (int i = 0; i < call->disk_count; i++) {
		const DISK *disk = &call->disks[i];
		ULONG number = 0;
		image_make(call, disk);
		if (disk->is_system && disk->there)
			make_system(call, disk);
		if (!disk->there || disk_state(call, disk)->attributes & 1)
			continue;
		table_read(call, disk, call->layout);
		for (ULONG j = 0; j < call->layout->count; j++) {
			number++;
			if (has_volume(call->layout, &call->layout->partition[j]) && !is_second(call, disk->number, number))
				see(call, disk, call->layout, &call->layout->partition[j], number);
		}
	}
	// A volume whose partition is gone from a table that can be read is forgotten.
	for (VOLUME *volume = call->state->volume; volume < call->state->volume + MAX_VOLUMES; volume++) {
		const DISK *disk = volume->used && !volume->there ? disk_of(call, volume->disk) : NULL;
		if (disk && disk->there && !(disk_state(call, disk)->attributes & 1))
			volume->used = FALSE;
	}
	call->state->stale = FALSE;
}

// volumes_sync_if_stale looks for the volumes if control.txt or a disk is another than when they were last looked for.
void volumes_sync_if_stale(CALL *call)
{
	ULONG sum = 0;
	for (int i = 0; i < call->control.count; i++)
		sum = sum * 31 + crc32(call->control.lines[i].text, strlen(call->control.lines[i].text));
	if (sum == call->state->control && !call->state->stale)
		return;
	call->state->control = sum;
	volumes_sync(call);
}

BOOL volume_there(const CALL *call, const VOLUME *volume)
{
	(void)call;
	return volume->used && volume->there && !volume->appears;
}

VOLUME *volume_by_guid(CALL *call, const GUID *guid)
{
	for (VOLUME *volume = call->state->volume; volume < call->state->volume + MAX_VOLUMES; volume++)
		if (volume->used && volume->there && same(&volume->guid, guid))
			return volume;
	return NULL;
}

// file_system returns what "filesystem DISK PARTITION NAME" says, or NULL for a volume that is RAW.
const char *file_system(const CALL *call, const VOLUME *volume)
{
	for (const LINE *line = control_find(&call->control, NULL, "filesystem"); line; line = control_find(&call->control, line, "filesystem"))
		if (line->words > 3 && strtoul(line->word[1], NULL, 0) == volume->disk && strtoul(line->word[2], NULL, 0) == volume->partition)
			return line->word[3];
	WCHAR path[MAX_PATH], text[39];
	guid_text(&volume->guid, text);
	_snwprintf(path, MAX_PATH, FOLDER L"formatted\\%ls", text); // by the fake WMI
	return GetFileAttributesW(path) == INVALID_FILE_ATTRIBUTES ? NULL : "NTFS";
}

ULONG extents_of(CALL *call, const VOLUME *volume, DISK_EXTENT *extent, ULONG most)
{
	ULONG count = 1;
	extent[0].DiskNumber = volume->disk;
	extent[0].StartingOffset.QuadPart = (LONGLONG)volume->offset;
	extent[0].ExtentLength.QuadPart = (LONGLONG)volume->length;
	for (const LINE *line = control_find(&call->control, NULL, "spans"); line && count < most; line = control_find(&call->control, line, "spans")) {
		if (line->words < 5 || strtoul(line->word[1], NULL, 0) != volume->disk || strtoul(line->word[2], NULL, 0) != volume->partition)
			continue;
		const DISK *disk = disk_of(call, strtoul(line->word[3], NULL, 0));
		const ULONG number = strtoul(line->word[4], NULL, 0);
		if (!disk)
			continue;
		table_read(call, disk, call->layout);
		if (number < 1 || number > call->layout->count)
			continue;
		extent[count].DiskNumber = disk->number;
		extent[count].StartingOffset.QuadPart = (LONGLONG)call->layout->partition[number - 1].offset;
		extent[count++].ExtentLength.QuadPart = (LONGLONG)call->layout->partition[number - 1].length;
	}
	return count;
}

static BOOL is_alive(DWORD process)
{
	HANDLE h = OpenProcess(SYNCHRONIZE, FALSE, process);
	BOOL alive = h && WaitForSingleObject(h, 0) == WAIT_TIMEOUT;
	if (h)
		CloseHandle(h);
	return alive;
}

// other_handles returns how many handles of living processes name the volume, and forgets those of dead ones and their locks.
ULONG other_handles(const VOLUME *constant)
{
	VOLUME *volume = (VOLUME *)constant;
	ULONG handles = 0;
	for (int i = 0; i < MAX_OPENERS; i++) {
		if (volume->opener[i].handles && !is_alive(volume->opener[i].process))
			volume->opener[i].handles = 0;
		handles += volume->opener[i].handles;
	}
	if (volume->locked_by && !is_alive(volume->locked_by))
		volume->locked_by = 0;
	return handles;
}

void opener_add(VOLUME *volume, int change)
{
	const DWORD self = GetCurrentProcessId();
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < MAX_OPENERS; i++)
			if (pass == 0 ? volume->opener[i].process == self && volume->opener[i].handles : change > 0 && !volume->opener[i].handles) {
				volume->opener[i].process = self;
				volume->opener[i].handles += change;
				return;
			}
}
