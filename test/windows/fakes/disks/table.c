// SPDX-License-Identifier: Apache-2.0
//
// Partition tables as bytes on the image: an MBR of four primary partitions, and a GPT with both copies. The forms are those of the UEFI
// specification, chapter 5 (https://uefi.org/specs/UEFI/2.10/05_GUID_Partition_Table_Format.html); sgdisk and sfdisk judge them.
#include "fake.h"

BOOLEAN WINAPI SystemFunction036(void *data, ULONG size); // RtlGenRandom

const GUID type_none = {0};
const GUID type_basic = {0xebd0a0a2, 0xb9e5, 0x4433, {0x87, 0xc0, 0x68, 0xb6, 0xb7, 0x26, 0x99, 0xc7}};
const GUID type_reserved = {0xe3c9e316, 0x0b5c, 0x4db8, {0x81, 0x7d, 0xf9, 0x2d, 0xf0, 0x02, 0x15, 0xae}};
const GUID type_system = {0xc12a7328, 0xf81f, 0x11d2, {0xba, 0x4b, 0x00, 0xa0, 0xc9, 0x3e, 0xc9, 0x3b}};

enum { ENTRY = 128, HEADER = 92, MBR_ENTRIES = 446, MBR_PROTECTIVE = 0xee };

#pragma pack(push, 1)
typedef struct {
	BYTE signature[8];
	ULONG revision, size, crc, reserved;
	ULONGLONG at, other, first, last;
	GUID id;
	ULONGLONG entries;
	ULONG count, entry_size, entries_crc;
} GPT_HEADER;

typedef struct {
	GUID type, id;
	ULONGLONG first, last, attributes;
	WCHAR name[36];
} GPT_ENTRY;

typedef struct {
	BYTE boot, first_chs[3], type, last_chs[3];
	ULONG first, count;
} MBR_ENTRY;
#pragma pack(pop)

_Static_assert(sizeof(GPT_HEADER) == HEADER && sizeof(GPT_ENTRY) == ENTRY && sizeof(MBR_ENTRY) == 16, "forms on the disk");

BOOL new_guid(GUID *guid)
{
	if (!SystemFunction036(guid, sizeof *guid))
		return FALSE;
	guid->Data3 = (guid->Data3 & 0x0fff) | 0x4000;
	guid->Data4[0] = (guid->Data4[0] & 0x3f) | 0x80;
	return TRUE;
}

ULONG crc32(const void *data, size_t size)
{
	ULONG crc = ~0u;
	for (const BYTE *at = data; size > 0; at++, size--) {
		crc ^= *at;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

static ULONGLONG sectors(CALL *call, const DISK *disk) { return disk_state(call, disk)->shown / disk->sector; }

static ULONG entry_sectors(const DISK *disk, ULONG most) { return (most * ENTRY + disk->sector - 1) / disk->sector; }

static BOOL is_none(const GUID *guid) { return !memcmp(guid, &type_none, sizeof *guid); }

// read_gpt reads the copy of the GPT whose header is at a sector.
static BOOL read_gpt(CALL *call, const DISK *disk, ULONGLONG at, LAYOUT *layout)
{
	BYTE *sector = calloc(1, disk->sector), *entries = NULL;
	GPT_HEADER header;
	BOOL good = image_read(call, disk, at * disk->sector, sector, disk->sector) >= 0;
	memcpy(&header, sector, sizeof header);
	free(sector);
	ULONG crc = header.crc;
	header.crc = 0;
	good = good && !memcmp(header.signature, "EFI PART", 8) && header.size == HEADER && crc32(&header, HEADER) == crc && header.at == at && header.entry_size == ENTRY && header.count <= 1024;
	if (good) {
		ULONG size = entry_sectors(disk, header.count) * disk->sector;
		entries = calloc(1, size);
		good = image_read(call, disk, header.entries * disk->sector, entries, size) >= 0 && crc32(entries, header.count * ENTRY) == header.entries_crc;
	}
	if (good) {
		layout->style = PARTITION_STYLE_GPT;
		layout->id = header.id;
		layout->first = header.first * disk->sector;
		layout->usable = (header.last - header.first + 1) * disk->sector;
		layout->most = header.count;
		layout->count = 0;
	}
	for (ULONG i = 0; good && i < header.count && layout->count < MAX_PARTITIONS; i++) {
		const GPT_ENTRY *entry = (const GPT_ENTRY *)entries + i;
		PARTITION *partition = &layout->partition[layout->count];
		if (is_none(&entry->type))
			continue;
		layout->count++;
		partition->index = i;
		partition->type = entry->type;
		partition->id = entry->id;
		partition->offset = entry->first * disk->sector;
		partition->length = (entry->last - entry->first + 1) * disk->sector;
		partition->attributes = entry->attributes;
		memcpy(partition->name, entry->name, sizeof partition->name);
	}
	free(entries);
	return good;
}

static void read_mbr(const DISK *disk, const BYTE *sector, LAYOUT *layout)
{
	layout->style = PARTITION_STYLE_MBR;
	memcpy(&layout->signature, sector + 440, sizeof layout->signature);
	layout->first = disk->sector;
	layout->most = 4;
	for (ULONG i = 0; i < 4; i++) {
		MBR_ENTRY entry;
		memcpy(&entry, sector + MBR_ENTRIES + i * sizeof entry, sizeof entry);
		if (!entry.type || !entry.count)
			continue;
		PARTITION *partition = &layout->partition[layout->count++];
		partition->index = i;
		partition->mbr_type = entry.type;
		partition->boot = entry.boot == 0x80;
		partition->offset = (ULONGLONG)entry.first * disk->sector;
		partition->length = (ULONGLONG)entry.count * disk->sector;
		partition->id.Data1 = layout->signature;
		memcpy(partition->id.Data4, &partition->offset, sizeof partition->offset);
	}
}

void table_read(CALL *call, const DISK *disk, LAYOUT *layout)
{
	BYTE *sector = calloc(1, disk->sector);
	BOOL protective = FALSE, good = image_read(call, disk, 0, sector, disk->sector) >= 0 && sector[510] == 0x55 && sector[511] == 0xaa;
	ZeroMemory(layout, sizeof *layout);
	layout->style = PARTITION_STYLE_RAW;
	for (int i = 0; good && i < 4; i++)
		protective = protective || sector[MBR_ENTRIES + i * 16 + 4] == MBR_PROTECTIVE;
	if (protective && !read_gpt(call, disk, 1, layout))
		read_gpt(call, disk, sectors(call, disk) - 1, layout);
	if (good && !protective)
		read_mbr(disk, sector, layout);
	free(sector);
}

// table_empty makes the layout of a disk without partitions.
// https://learn.microsoft.com/windows/win32/api/winioctl/ns-winioctl-create_disk_gpt: fewer than 128 entries become 128.
void table_empty(const DISK *disk, LAYOUT *layout, PARTITION_STYLE style, ULONG most)
{
	ZeroMemory(layout, sizeof *layout);
	layout->style = style;
	layout->most = style == PARTITION_STYLE_MBR ? 4 : most < 128 ? 128 : most;
	layout->first = style == PARTITION_STYLE_MBR ? disk->sector : (2ull + entry_sectors(disk, layout->most)) * disk->sector;
}

static void put_mbr_entry(BYTE *sector, ULONG index, BYTE type, BOOL boot, ULONGLONG first, ULONGLONG count)
{
	MBR_ENTRY entry = {.boot = boot ? 0x80 : 0, .first_chs = {0, 2, 0}, .type = type, .last_chs = {0xff, 0xff, 0xff}, .first = (ULONG)first};
	if (first > 1)
		memcpy(entry.first_chs, (BYTE[]){0xfe, 0xff, 0xff}, 3);
	if (first > 1)
		entry.last_chs[0] = 0xfe;
	entry.count = count > 0xffffffff ? 0xffffffff : (ULONG)count;
	memcpy(sector + MBR_ENTRIES + index * sizeof entry, &entry, sizeof entry);
}

// write_first writes the first sector and leaves the boot code in it.
static NTSTATUS write_first(CALL *call, const DISK *disk, const LAYOUT *layout)
{
	BYTE *sector = calloc(1, disk->sector);
	NTSTATUS status = image_read(call, disk, 0, sector, disk->sector);
	memset(sector + 440, 0, 70);
	sector[510] = 0x55;
	sector[511] = 0xaa;
	if (layout->style == PARTITION_STYLE_GPT) {
		put_mbr_entry(sector, 0, MBR_PROTECTIVE, FALSE, 1, sectors(call, disk) - 1);
	} else {
		memcpy(sector + 440, &layout->signature, 4);
		for (ULONG i = 0; i < layout->count; i++) {
			const PARTITION *partition = &layout->partition[i];
			put_mbr_entry(sector, partition->index, partition->mbr_type, partition->boot, partition->offset / disk->sector, partition->length / disk->sector);
		}
	}
	if (status >= 0)
		status = image_write(call, disk, 0, sector, disk->sector);
	free(sector);
	return status;
}

static NTSTATUS write_copy(CALL *call, const DISK *disk, GPT_HEADER header, ULONGLONG at, ULONGLONG other, ULONGLONG entries_at, const BYTE *entries)
{
	BYTE *sector = calloc(1, disk->sector);
	header.at = at;
	header.other = other;
	header.entries = entries_at;
	header.crc = crc32(&header, HEADER);
	memcpy(sector, &header, sizeof header);
	NTSTATUS status = image_write(call, disk, entries_at * disk->sector, entries, entry_sectors(disk, header.count) * disk->sector);
	if (status >= 0)
		status = image_write(call, disk, at * disk->sector, sector, disk->sector);
	free(sector);
	return status;
}

static NTSTATUS write_gpt(CALL *call, const DISK *disk, const LAYOUT *layout)
{
	const ULONGLONG last = sectors(call, disk) - 1;
	const ULONG needed = entry_sectors(disk, layout->most);
	GPT_HEADER header = {.signature = "EFI PART", .revision = 0x00010000, .size = HEADER, .id = layout->id, .count = layout->most, .entry_size = ENTRY};
	BYTE *entries = calloc(needed, disk->sector);
	header.first = layout->first / disk->sector;
	header.last = last - needed - 1;
	for (ULONG i = 0; i < layout->count; i++) {
		const PARTITION *partition = &layout->partition[i];
		GPT_ENTRY *entry = (GPT_ENTRY *)entries + partition->index;
		entry->type = partition->type;
		entry->id = partition->id;
		entry->first = partition->offset / disk->sector;
		entry->last = (partition->offset + partition->length) / disk->sector - 1;
		entry->attributes = partition->attributes;
		memcpy(entry->name, partition->name, sizeof entry->name);
	}
	header.entries_crc = crc32(entries, layout->most * ENTRY);
	NTSTATUS status = write_copy(call, disk, header, last, 1, last - needed, entries);
	if (status >= 0)
		status = write_copy(call, disk, header, 1, last, 2, entries);
	free(entries);
	return status;
}

NTSTATUS table_write(CALL *call, const DISK *disk, const LAYOUT *layout)
{
	NTSTATUS status = layout->style == PARTITION_STYLE_GPT ? write_gpt(call, disk, layout) : STATUS_SUCCESS;
	return status < 0 ? status : write_first(call, disk, layout);
}

// https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-ioctl_disk_delete_drive_layout; the GPT goes as well.
NTSTATUS table_erase(CALL *call, const DISK *disk)
{
	const ULONGLONG keep = 34ull * 512 > 6ull * disk->sector ? 34ull * 512 : 6ull * disk->sector;
	image_erase(call, disk, 0, keep);
	image_erase(call, disk, disk_state(call, disk)->shown - keep, keep);
	return STATUS_SUCCESS;
}
