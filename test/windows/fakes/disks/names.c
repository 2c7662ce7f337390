// SPDX-License-Identifier: Apache-2.0
//
// The names of disks and volumes: those that Plug and Play gives and those that programs open.
// https://learn.microsoft.com/windows/win32/fileio/naming-a-file, section "Win32 Device Namespaces", and
// https://learn.microsoft.com/windows/win32/fileio/naming-a-volume
#include "fake.h"

#define DISK_CLASS L"#{53f56307-b6bf-11d0-94f2-00a0c91efb8b}"
#define VOLUME_CLASS L"#{53f5630d-b6bf-11d0-94f2-00a0c91efb8b}"

enum { GUID_LENGTH = 38 };

static size_t put_words(WCHAR *to, const char *text, const char *otherwise)
{
	size_t n = 0;
	for (const char *c = text ? text : otherwise; *c; c++)
		to[n++] = *c == ' ' || *c == '\\' || *c == '#' ? '_' : (WCHAR)(BYTE)*c;
	return n;
}

// disk_instance writes a device instance ID, such as SCSI\Disk&Ven_Msft&Prod_Virtual_Disk\5&2a000000&0&000001.
// https://learn.microsoft.com/windows-hardware/drivers/install/identifiers-for-scsi-devices
void disk_instance(const DISK *disk, WCHAR text[NAME_MOST])
{
	WCHAR *at = text + _snwprintf(text, NAME_MOST, L"%ls\\Disk&Ven_", disk->bus == BusTypeUsb ? L"USBSTOR" : L"SCSI");
	at += put_words(at, disk->vendor, "Msft");
	at += _snwprintf(at, 16, L"&Prod_");
	at += put_words(at, disk->product, "Virtual_Disk");
	_snwprintf(at, 64, L"\\5&%lx&0&%02lx%02lx%02lx", 0x2a000000 | disk->port, disk->path, disk->target, disk->lun);
}

static void interface_of(WCHAR text[NAME_MOST], const WCHAR *class)
{
	const size_t length = wcslen(text);
	memmove(text + 4, text, (length + 1) * sizeof *text);
	memcpy(text, L"\\\\?\\", 4 * sizeof *text);
	for (WCHAR *c = text + 4; *c; c++)
		if (*c == '\\')
			*c = '#';
	wcscat(text, class);
}

void disk_interface(const DISK *disk, WCHAR text[NAME_MOST])
{
	disk_instance(disk, text);
	interface_of(text, DISK_CLASS);
}

// volume_instance writes an ID such as STORAGE\Volume\{0000002a-…}#0000000000100000: the disk and the offset of a partition.
void volume_instance(CALL *call, const VOLUME *volume, WCHAR text[NAME_MOST])
{
	(void)call;
	_snwprintf(text, NAME_MOST, L"STORAGE\\Volume\\{%08lx-d15c-11f0-80aa-806e6f6e6963}#%016llX", 0x5eed0000 | volume->disk, volume->offset);
}

void volume_interface(CALL *call, const VOLUME *volume, WCHAR text[NAME_MOST])
{
	volume_instance(call, volume, text);
	interface_of(text, VOLUME_CLASS);
}

void guid_text(const GUID *g, WCHAR text[39])
{
	_snwprintf(text, 39, L"{%08lx-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x}", g->Data1, g->Data2, g->Data3, g->Data4[0], g->Data4[1], g->Data4[2], g->Data4[3], g->Data4[4],
		g->Data4[5], g->Data4[6], g->Data4[7]);
}

BOOL parse_guid(const WCHAR *text, GUID *g)
{
	unsigned part[8], first, second, third;
	if (!text || swscanf(text, L"{%8x-%4x-%4x-%2x%2x-%2x%2x%2x%2x%2x%2x}", &first, &second, &third, part, part + 1, part + 2, part + 3, part + 4, part + 5, part + 6, part + 7) != 11)
		return FALSE;
	g->Data1 = first;
	g->Data2 = (USHORT)second;
	g->Data3 = (USHORT)third;
	for (int i = 0; i < 8; i++)
		g->Data4[i] = (BYTE)part[i];
	return TRUE;
}

// skip returns the text after a start, in any case of letters, or NULL.
static const WCHAR *skip(const WCHAR *text, const WCHAR *start)
{
	const size_t n = wcslen(start);
	return _wcsnicmp(text, start, n) ? NULL : text + n;
}

// bare returns a name without what the object manager puts before it, or NULL for another directory.
static const WCHAR *bare(const WCHAR *text)
{
	static const WCHAR *const starts[] = {L"\\??\\GLOBALROOT\\Device\\", L"\\??\\", L"\\GLOBAL??\\", L"\\DosDevices\\", L"\\Device\\"};
	for (size_t i = 0; i < ARRAYSIZE(starts); i++) {
		const WCHAR *rest = skip(text, starts[i]);
		if (rest)
			return rest;
	}
	return NULL;
}

static BOOL copy_name(const UNICODE_STRING *name, WCHAR text[NAME_MOST])
{
	const size_t n = name ? name->Length / sizeof(WCHAR) : 0;
	if (n == 0 || n >= NAME_MOST)
		return FALSE;
	memcpy(text, name->Buffer, n * sizeof(WCHAR));
	text[n] = 0;
	return TRUE;
}

static const WCHAR *after_class(const WCHAR *name, const WCHAR *class)
{
	for (; (name = wcschr(name, '#')); name++) {
		const WCHAR *rest = skip(name, class);
		if (rest)
			return rest;
	}
	return NULL;
}

// looks_ours reports whether a name has the form of one of ours, which is asked for each file that a program opens.
BOOL looks_ours(const UNICODE_STRING *name)
{
	WCHAR text[NAME_MOST];
	const WCHAR *at;
	if (!copy_name(name, text) || !(at = bare(text)))
		return FALSE;
	return skip(at, L"PhysicalDrive") || skip(at, L"Harddisk") || skip(at, L"Volume{") || skip(at, L"MountPointManager") || after_class(at, DISK_CLASS) || after_class(at, VOLUME_CLASS) ||
	       (at[0] && at[1] == ':' && !at[2]);
}

// number_in reads a decimal number and returns what follows it, or NULL.
static const WCHAR *number_in(const WCHAR *text, ULONG *number)
{
	if (!text || *text < '0' || *text > '9')
		return NULL;
	WCHAR *end;
	*number = wcstoul(text, &end, 10);
	return end;
}

static NTSTATUS a_disk(CALL *call, const DISK *disk, TARGET *target)
{
	(void)call;
	if (!disk || !disk->there)
		return STATUS_OBJECT_NAME_NOT_FOUND;
	target->kind = DISK_DEVICE;
	target->disk = disk->number;
	return STATUS_SUCCESS;
}

static NTSTATUS a_volume(CALL *call, const VOLUME *volume, const WCHAR *rest, TARGET *target)
{
	if (!volume || !volume_there(call, volume))
		return STATUS_OBJECT_NAME_NOT_FOUND;
	target->kind = *rest ? VOLUME_FILE : VOLUME_DEVICE;
	target->disk = volume->disk;
	target->volume = (ULONG)(volume - call->state->volume);
	wcscpy(target->rest, rest);
	return STATUS_SUCCESS;
}

#define FOR_VOLUMES(call, volume) for (VOLUME *volume = (call)->state->volume; volume < (call)->state->volume + MAX_VOLUMES; volume++)

static NTSTATUS by_interface(CALL *call, const WCHAR *name, TARGET *target)
{
	WCHAR text[NAME_MOST];
	for (int i = 0; i < call->disk_count; i++) {
		disk_interface(&call->disks[i], text);
		if (!_wcsicmp(text + 4, name))
			return a_disk(call, &call->disks[i], target);
	}
	FOR_VOLUMES(call, volume)
	{
		if (!volume->used)
			continue;
		volume_interface(call, volume, text);
		const WCHAR *rest = skip(name, text + 4);
		if (rest && (!*rest || *rest == '\\'))
			return a_volume(call, volume, rest, target);
	}
	return STATUS_OBJECT_NAME_NOT_FOUND;
}

static NTSTATUS by_number(CALL *call, ULONG number, const WCHAR *rest, TARGET *target)
{
	FOR_VOLUMES(call, volume)
	{
		if (volume->used && volume->number == number)
			return a_volume(call, volume, rest, target);
	}
	return STATUS_OBJECT_NAME_NOT_FOUND;
}

static NTSTATUS by_partition(CALL *call, ULONG disk, ULONG partition, TARGET *target)
{
	FOR_VOLUMES(call, volume)
	{
		if (!volume->used || volume->disk != disk || volume->partition != partition)
			continue;
		const NTSTATUS status = a_volume(call, volume, L"", target);
		if (volume->appears)
			volume->appears--; // a look for a late volume
		return status;
	}
	return STATUS_OBJECT_NAME_NOT_FOUND;
}

// by_letter finds the volume of drive C of a system disk; other letters are Wine's.
static NTSTATUS by_letter(CALL *call, WCHAR letter, TARGET *target)
{
	FOR_VOLUMES(call, volume)
	{
		const DISK *disk = volume->used ? disk_of(call, volume->disk) : NULL;
		if (disk && disk->is_system && (letter == 'C' || letter == 'c') && volume->is_own)
			return a_volume(call, volume, L"", target);
	}
	return STATUS_SUCCESS;
}

// find_target finds what a name that looks like ours names. A target of the kind NOT_OURS is left to Wine.
NTSTATUS find_target(CALL *call, const UNICODE_STRING *name, TARGET *target)
{
	WCHAR text[NAME_MOST];
	const WCHAR *at, *rest;
	ULONG number, part;
	GUID guid;
	target->kind = NOT_OURS;
	if (!copy_name(name, text) || !(at = bare(text)))
		return STATUS_SUCCESS;
	if ((rest = skip(at, L"MountPointManager")) && !*rest) {
		target->kind = MOUNT_MANAGER;
		return STATUS_SUCCESS;
	}
	if (at[1] == ':')
		return by_letter(call, at[0], target);
	if ((rest = number_in(skip(at, L"PhysicalDrive"), &number)))
		return *rest ? STATUS_OBJECT_PATH_NOT_FOUND : a_disk(call, disk_of(call, number), target);
	if ((rest = number_in(skip(at, L"HarddiskVolume"), &number)) && (!*rest || *rest == '\\'))
		return by_number(call, number, rest, target);
	if ((rest = number_in(skip(at, L"Harddisk"), &number)) && (rest = number_in(skip(rest, L"\\Partition"), &part)) && !*rest)
		return part == 0 ? a_disk(call, disk_of(call, number), target) : by_partition(call, number, part, target);
	if ((rest = skip(at, L"Volume")) && parse_guid(rest, &guid)) {
		VOLUME *volume = volume_by_guid(call, &guid);
		return volume ? a_volume(call, volume, rest + GUID_LENGTH, target) : STATUS_SUCCESS; // Wine's own drives
	}
	if (after_class(at, DISK_CLASS) || after_class(at, VOLUME_CLASS))
		return by_interface(call, at, target);
	return STATUS_SUCCESS;
}
