// SPDX-License-Identifier: Apache-2.0
//
// What control.txt says about the world. ../README.md lists the lines.
#include "fake.h"

// answers reports whether a line "KEYWORD NAME NUMBER [on OBJECT]" is about this call.
BOOL answers(CALL *call, const char *keyword, ULONG *answer)
{
	return control_answer(&call->control, keyword, call->name, call->object, answer);
}

// option returns the word after a name in a line, or NULL.
const char *option(const LINE *line, int from, const char *name)
{
	for (int i = from; i + 1 < line->words; i++)
		if (!strcmp(line->word[i], name))
			return line->word[i + 1];
	return NULL;
}

static BOOL flag(const LINE *line, int from, const char *name)
{
	for (int i = from; i < line->words; i++)
		if (!strcmp(line->word[i], name))
			return TRUE;
	return FALSE;
}

static ULONG number(const LINE *line, const char *name, ULONG otherwise)
{
	const char *word = option(line, 3, name);
	return word ? strtoul(word, NULL, 0) : otherwise;
}

ULONGLONG size_of(const char *word)
{
	char *unit;
	ULONGLONG n = strtoull(word, &unit, 0);
	switch (*unit) {
	case 'T':
		n <<= 10; // fall through
	case 'G':
		n <<= 10; // fall through
	case 'M':
		n <<= 10; // fall through
	case 'K':
		n <<= 10;
	}
	return n;
}

// https://learn.microsoft.com/windows/win32/api/winioctl/ne-winioctl-storage_bus_type
static STORAGE_BUS_TYPE bus_of(const char *name)
{
	static const struct { const char *name; STORAGE_BUS_TYPE bus; } buses[] = {{"scsi", BusTypeScsi}, {"ata", BusTypeAta}, {"usb", BusTypeUsb}, {"iscsi", BusTypeiScsi},
		{"sas", BusTypeSas}, {"sata", BusTypeSata}, {"virtual", BusTypeVirtual}, {"file-backed", BusTypeFileBackedVirtual}, {"fibre", BusTypeFibre}, {"nvme", (STORAGE_BUS_TYPE)17}};
	for (size_t i = 0; name && i < ARRAYSIZE(buses); i++)
		if (!strcmp(buses[i].name, name))
			return buses[i].bus;
	return BusTypeScsi;
}

static void read_disk(const LINE *line, DISK *disk)
{
	disk->number = strtoul(line->word[1], NULL, 0);
	disk->size = size_of(line->word[2]);
	disk->sector = number(line, "sector", 512);
	disk->physical = number(line, "physical", disk->sector > 4096 ? disk->sector : 4096);
	disk->port = number(line, "port", 0);
	disk->path = number(line, "path", 0);
	disk->target = number(line, "target", 0);
	disk->lun = number(line, "lun", disk->number);
	disk->bus = bus_of(option(line, 3, "bus"));
	disk->vendor = option(line, 3, "vendor");
	disk->product = option(line, 3, "product");
	disk->revision = option(line, 3, "revision");
	disk->serial = option(line, 3, "serial");
	for (int i = 3; i + 1 < line->words && disk->ids < MAX_IDS; i++)
		if (!strcmp(line->word[i], "id"))
			disk->id[disk->ids++] = line->word[i + 1];
	disk->no_id = flag(line, 3, "no-id");
	disk->no_duid = flag(line, 3, "no-duid");
	disk->offline = flag(line, 3, "offline");
	disk->readonly = flag(line, 3, "readonly");
	disk->is_system = flag(line, 3, "system");
	disk->removable = flag(line, 3, "removable");
	disk->late = flag(line, 3, "late");
}

// about finds the line "KEYWORD DISK …".
static const LINE *about(const CALL *call, const char *keyword, ULONG disk)
{
	for (const LINE *line = control_find(&call->control, NULL, keyword); line; line = control_find(&call->control, line, keyword))
		if (strtoul(line->word[1], NULL, 0) == disk)
			return line;
	return NULL;
}

void control_disks(CALL *call)
{
	call->disks = calloc(MAX_DISKS, sizeof(DISK));
	for (const LINE *line = control_find(&call->control, NULL, "disk"); line && call->disk_count < MAX_DISKS; line = control_find(&call->control, line, "disk")) {
		DISK *disk = &call->disks[call->disk_count];
		if (line->words < 3 || strtoul(line->word[1], NULL, 0) >= MAX_DISKS)
			continue;
		read_disk(line, disk);
		call->disk_count++;
		const LINE *grown = about(call, "grown", disk->number);
		if (grown && grown->words > 2)
			disk->size = size_of(grown->word[2]);
		disk->gone = about(call, "gone", disk->number) != NULL;
		DISK_STATE *state = disk_state(call, disk);
		if (!state->known) {
			state->known = TRUE;
			state->arrived = !disk->late;
			state->shown = disk->size;
			state->attributes = state->persistent = (disk->offline ? 1 : 0) | (disk->readonly ? 2 : 0);
		}
		if (control_is(&call->control, "growth", "at-once"))
			state->shown = disk->size;
		disk->there = state->arrived && !disk->gone;
	}
}
