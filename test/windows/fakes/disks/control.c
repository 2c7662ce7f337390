// SPDX-License-Identifier: Apache-2.0
//
// control.txt: what a test says about the world and what it injects. README.md lists the lines.
#include "fake.h"

#define CONTROL FOLDER L"control.txt"

static void split(LINE *line)
{
	line->split = _strdup(line->text);
	line->words = 0;
	for (char *place = line->split; line->words < MAX_WORDS; line->words++) {
		place += strspn(place, " \t");
		if (!*place || *place == '#')
			break;
		line->word[line->words] = place;
		place += strcspn(place, " \t");
		if (*place)
			*place++ = 0;
	}
}

void control_load(CALL *call)
{
	DWORD size, got = 0;
	HANDLE file = CreateFileW(CONTROL, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, 0, NULL);
	call->lines = NULL;
	call->count = 0;
	call->text = NULL;
	if (file == INVALID_HANDLE_VALUE)
		return;
	size = GetFileSize(file, NULL);
	call->text = calloc(1, size + 1);
	ReadFile(file, call->text, size, &got, NULL);
	CloseHandle(file);
	char *rest = call->text;
	for (char *text; (text = rest + strspn(rest, "\r\n")) && *text;) {
		rest = text + strcspn(text, "\r\n");
		if (*rest)
			*rest++ = 0;
		call->lines = realloc(call->lines, (call->count + 1) * sizeof(LINE));
		call->lines[call->count].text = text;
		split(&call->lines[call->count++]);
	}
}

void control_free(CALL *call)
{
	for (int i = 0; i < call->count; i++)
		free(call->lines[i].split);
	free(call->lines);
	free(call->text);
	call->lines = NULL;
	call->text = NULL;
	call->count = 0;
}

const LINE *control_find(const CALL *call, const LINE *after, const char *keyword)
{
	for (const LINE *line = after ? after + 1 : call->lines; line < call->lines + call->count; line++)
		if (line->words > 1 && !strcmp(line->word[0], keyword))
			return line;
	return NULL;
}

BOOL control_is(const CALL *call, const char *keyword, const char *value)
{
	const LINE *line = control_find(call, NULL, keyword);
	return line && !strcmp(line->word[1], value);
}

// store writes the control file without one line, or with another text in its place.
static void store(const CALL *call, const LINE *changed, const char *text)
{
	DWORD written;
	HANDLE file = CreateFileW(CONTROL, GENERIC_WRITE, FILE_SHARE_READ, NULL, CREATE_ALWAYS, 0, NULL);
	for (const LINE *line = call->lines; line < call->lines + call->count; line++) {
		const char *out = line == changed ? text : line->text;
		if (!out)
			continue;
		WriteFile(file, out, (DWORD)strlen(out), &written, NULL);
		WriteFile(file, "\r\n", 2, &written, NULL);
	}
	CloseHandle(file);
}

// concerns reports whether a line "KEYWORD NAME … [on OBJECT]" is about this call.
static BOOL concerns(const CALL *call, const LINE *line)
{
	if (strcmp(line->word[1], call->name))
		return FALSE;
	for (int i = 2; i + 1 < line->words; i++)
		if (!strcmp(line->word[i], "on"))
			return !strcmp(line->word[i + 1], call->object);
	return TRUE;
}

// control_answer reports whether there is a line "KEYWORD NAME NUMBER [on OBJECT]" for this call. Lines with once and lost serve one call.
BOOL control_answer(CALL *call, const char *keyword, ULONG *answer)
{
	for (const LINE *line = control_find(call, NULL, keyword); line; line = control_find(call, line, keyword)) {
		if (line->words < 3 || !concerns(call, line))
			continue;
		*answer = strtoul(line->word[2], NULL, 0);
		if (!strcmp(keyword, "once") || !strcmp(keyword, "lost"))
			store(call, line, NULL);
		return TRUE;
	}
	return FALSE;
}

// control_after lets the line of the first "after NAME LINE" hold, once such a call was made.
void control_after(CALL *call)
{
	for (const LINE *line = control_find(call, NULL, "after"); line; line = control_find(call, line, "after")) {
		if (line->words < 3 || strcmp(line->word[1], call->name))
			continue;
		const char *rest = strstr(line->text, call->name) + strlen(call->name);
		store(call, line, rest + strspn(rest, " \t"));
		return;
	}
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
	for (const LINE *line = control_find(call, NULL, keyword); line; line = control_find(call, line, keyword))
		if (strtoul(line->word[1], NULL, 0) == disk)
			return line;
	return NULL;
}

void control_disks(CALL *call)
{
	call->disks = calloc(MAX_DISKS, sizeof(DISK));
	for (const LINE *line = control_find(call, NULL, "disk"); line && call->disk_count < MAX_DISKS; line = control_find(call, line, "disk")) {
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
		if (control_is(call, "growth", "at-once"))
			state->shown = disk->size;
		disk->there = state->arrived && !disk->gone;
	}
}
