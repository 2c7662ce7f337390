// SPDX-License-Identifier: Apache-2.0
//
// The mount manager's list of volumes, by which FindFirstVolumeW and others find them: Wine's list with ours.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/mountmgr/ni-mountmgr-ioctl_mountmgr_query_points
#include "fake.h"

typedef struct {
	ULONG symbolic_offset;
	USHORT symbolic_length;
	ULONG id_offset;
	USHORT id_length;
	ULONG device_offset;
	USHORT device_length;
} MOUNT_POINT;

typedef struct {
	ULONG size, count;
	MOUNT_POINT point[1];
} MOUNT_POINTS;

_Static_assert(sizeof(MOUNT_POINT) == 24 && sizeof(MOUNT_POINTS) == 32, "MOUNTMGR_MOUNT_POINT and MOUNTMGR_MOUNT_POINTS");

enum { WINE_MOST = 64 * 1024, TEXT_MOST = 64 };

// A LIST is the answer while it is made: points in front, their texts behind.
typedef struct {
	MOUNT_POINT point[2 * MAX_VOLUMES];
	ULONG count, text_size;
	BYTE text[96 * 1024];
} LIST;

static ULONG keep(LIST *list, const void *data, USHORT size)
{
	const ULONG at = list->text_size;
	if (at + size > sizeof list->text)
		return 0;
	memcpy(list->text + at, data, size);
	list->text_size += size;
	return at;
}

static void add(LIST *list, const void *symbolic, USHORT symbolic_length, const void *id, USHORT id_length, const void *device, USHORT device_length)
{
	if (list->count == ARRAYSIZE(list->point))
		return;
	MOUNT_POINT *point = &list->point[list->count++];
	point->symbolic_offset = keep(list, symbolic, point->symbolic_length = symbolic_length);
	point->id_offset = keep(list, id, point->id_length = id_length);
	point->device_offset = keep(list, device, point->device_length = device_length);
}

static USHORT bytes(const WCHAR *text) { return (USHORT)(wcslen(text) * sizeof *text); }

// wanted reports whether the input, which names nothing, a link or a device, asks for a volume.
static BOOL wanted(const void *in, ULONG in_size, const WCHAR *symbolic, const WCHAR *device)
{
	const MOUNT_POINT *filter = in;
	const WCHAR *text = NULL;
	USHORT length = 0;
	const WCHAR *ours = symbolic;
	if (in_size < sizeof *filter)
		return FALSE;
	if (filter->symbolic_length) {
		text = (const WCHAR *)((const BYTE *)in + filter->symbolic_offset);
		length = filter->symbolic_length;
	} else if (filter->device_length) {
		text = (const WCHAR *)((const BYTE *)in + filter->device_offset);
		length = filter->device_length;
		ours = device;
	} else {
		return !filter->id_length;
	}
	return length == bytes(ours) && !_wcsnicmp(text, ours, length / sizeof *text);
}

static BOOL names_nothing(const MOUNT_POINT *filter) { return !filter->symbolic_length && !filter->device_length && !filter->id_length; }

// in_wine reports whether Wine's list has the volume: it knows its own drive C, but not by our device's name.
static BOOL in_wine(const VOLUME *volume, const MOUNT_POINT *filter) { return volume->is_own && (filter->symbolic_length || !filter->device_length); }

static void add_ours(CALL *call, LIST *list, const void *in, ULONG in_size)
{
	for (const VOLUME *volume = call->state->volume; volume < call->state->volume + MAX_VOLUMES; volume++) {
		WCHAR guid[39], symbolic[TEXT_MOST], device[TEXT_MOST];
		BYTE id[24] = "DMIO:ID:";
		if (!volume_there(call, volume) || in_wine(volume, in))
			continue;
		guid_text(&volume->guid, guid);
		_snwprintf(symbolic, TEXT_MOST, L"\\??\\Volume%ls", guid);
		_snwprintf(device, TEXT_MOST, L"\\Device\\HarddiskVolume%lu", volume->number);
		memcpy(id + 8, &volume->id, sizeof volume->id);
		if (wanted(in, in_size, symbolic, device))
			add(list, symbolic, bytes(symbolic), id, sizeof id, device, bytes(device));
	}
}

static void add_wine(LIST *list, HANDLE handle, ULONG code, void *in, ULONG in_size)
{
	IO_STATUS_BLOCK io;
	MOUNT_POINTS *points = calloc(1, WINE_MOST);
	if (old_device_control(handle, NULL, NULL, NULL, &io, code, in, in_size, points, WINE_MOST) >= 0)
		for (ULONG i = 0; i < points->count; i++) {
			const MOUNT_POINT *p = &points->point[i];
			const BYTE *base = (const BYTE *)points;
			add(list, base + p->symbolic_offset, p->symbolic_length, base + p->id_offset, p->id_length, base + p->device_offset, p->device_length);
		}
	free(points);
}

NTSTATUS mount_manager_code(CALL *call, HANDLE handle, ULONG code, void *in, ULONG in_size, void *out, ULONG out_size, ULONG *information)
{
	LIST *list = calloc(1, sizeof *list);
	MOUNT_POINTS *answer = out;
	if (in_size < sizeof(MOUNT_POINT)) {
		free(list);
		return refuse(call, STATUS_INVALID_PARAMETER, "the input buffer has %lu bytes, less than a MOUNTMGR_MOUNT_POINT", in_size);
	}
	if (names_nothing(in)) // a list of all volumes, as FindFirstVolumeW makes it
		for (int i = 0; i < MAX_VOLUMES; i++)
			if (call->state->volume[i].used && call->state->volume[i].appears)
				call->state->volume[i].appears--;
	add_wine(list, handle, code, in, in_size);
	add_ours(call, list, in, in_size);
	const ULONG head = offsetof(MOUNT_POINTS, point) + list->count * sizeof(MOUNT_POINT), needed = head + list->text_size;
	NTSTATUS status = STATUS_SUCCESS;
	if (!list->count) {
		status = STATUS_OBJECT_NAME_NOT_FOUND;
	} else if (out_size < offsetof(MOUNT_POINTS, point)) {
		status = refuse(call, STATUS_INVALID_PARAMETER, "the output buffer has %lu bytes", out_size);
	} else if (out_size < needed) {
		answer->size = needed;
		answer->count = list->count;
		*information = offsetof(MOUNT_POINTS, point);
		status = STATUS_BUFFER_OVERFLOW;
	} else {
		answer->size = needed;
		answer->count = list->count;
		for (ULONG i = 0; i < list->count; i++) {
			MOUNT_POINT point = list->point[i];
			point.symbolic_offset += head;
			point.id_offset += head;
			point.device_offset += head;
			answer->point[i] = point;
		}
		memcpy((BYTE *)out + head, list->text, list->text_size);
		*information = needed;
	}
	free(list);
	return status;
}
