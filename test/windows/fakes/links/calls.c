// SPDX-License-Identifier: Apache-2.0

// The system calls that see links, as the pages of the Windows Driver Kit describe them.

#include <stddef.h>

#include "links.h"

DWORD opens_link;
create_file_function old_create_file;
create_function old_create;
open_function old_open;
control_function old_control;
attributes_function old_attributes, old_full_attributes;
information_function old_information, old_set_information;
list_function old_list;

// follows reports whether a call follows the last name if it is a link. The Win32 functions that delete and rename do not, on Windows.
static BOOL follows(ACCESS_MASK access, ULONG options) { return !(options & FILE_OPEN_REPARSE_POINT) && !(access & DELETE) && !TlsGetValue(opens_link); }

// Wine's CreateFileW drops FILE_FLAG_OPEN_REPARSE_POINT.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-createfilew
HANDLE WINAPI links_create_file(const WCHAR *name, DWORD access, DWORD share, SECURITY_ATTRIBUTES *security, DWORD disposition, DWORD flags, HANDLE template)
{
	TlsSetValue(opens_link, flags & FILE_FLAG_OPEN_REPARSE_POINT ? &opens_link : NULL);
	HANDLE h = old_create_file(name, access, share, security, disposition, flags, template);
	const DWORD code = GetLastError(); // which TlsSetValue may clear
	TlsSetValue(opens_link, NULL);
	SetLastError(code);
	return h;
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/nf-ntifs-ntcreatefile
NTSTATUS WINAPI links_create(HANDLE *h, ACCESS_MASK access, OBJECT_ATTRIBUTES *path, IO_STATUS_BLOCK *status, LARGE_INTEGER *size, ULONG attributes, ULONG share, ULONG disposition,
			     ULONG options, void *ea, ULONG ea_size)
{
	NTSTATUS answer;
	struct way *w = resolve(path, follows(access, options), &answer);
	if (!w)
		return answer;
	answer = old_create(h, access, &w->attributes, status, size, attributes, share, disposition, options, ea, ea_size);
	forget(w);
	return answer;
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/nf-ntifs-ntopenfile
NTSTATUS WINAPI links_open(HANDLE *h, ACCESS_MASK access, OBJECT_ATTRIBUTES *path, IO_STATUS_BLOCK *status, ULONG share, ULONG options)
{
	NTSTATUS answer;
	struct way *w = resolve(path, follows(access, options), &answer);
	if (!w)
		return answer;
	answer = old_open(h, access, &w->attributes, status, share, options);
	forget(w);
	return answer;
}

// https://learn.microsoft.com/windows-hardware/drivers/ifs/fsctl-get-reparse-point
static NTSTATUS get_reparse_point(HANDLE event, IO_STATUS_BLOCK *status, const struct link *l, void *out, ULONG size)
{
	if (size < 8)
		return LINKS_BUFFER_TOO_SMALL;
	memcpy(out, l->data, min(size, l->size));
	status->Information = min(size, l->size);
	status->Status = size < l->size ? LINKS_BUFFER_OVERFLOW : STATUS_SUCCESS;
	if (event)
		SetEvent(event);
	return status->Status;
}

// ended tells the caller how a control code without output ended.
static NTSTATUS ended(HANDLE event, IO_STATUS_BLOCK *status, NTSTATUS answer)
{
	if (answer < 0)
		return answer;
	status->Information = 0;
	status->Status = answer;
	if (event)
		SetEvent(event);
	return answer;
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/nf-ntifs-ntfscontrolfile
NTSTATUS WINAPI links_control(HANDLE h, HANDLE event, void *apc, void *context, IO_STATUS_BLOCK *status, ULONG code, void *in, ULONG in_size, void *out, ULONG out_size)
{
	struct link *l = code == FSCTL_GET_REPARSE_POINT ? HeapAlloc(GetProcessHeap(), 0, sizeof *l) : NULL;
	NTSTATUS answer;
	if (l && read_link(h, NULL, 0, l))
		answer = get_reparse_point(event, status, l, out, out_size);
	else if (code == FSCTL_SET_REPARSE_POINT && !*node_files)
		answer = ended(event, status, set_reparse_point(h, in, in_size));
	else if (code == FSCTL_DELETE_REPARSE_POINT && !*node_files)
		answer = ended(event, status, delete_reparse_point(h, in, in_size));
	else
		answer = old_control(h, event, apc, context, status, code, in, in_size, out, out_size);
	HeapFree(GetProcessHeap(), 0, l);
	return answer;
}

// mark adds the attribute of reparse points to a directory's if it is a link, and returns its tag, or 0.
static ULONG mark(ULONG *attributes, HANDLE root, const WCHAR *name, size_t length)
{
	ULONG tag = *attributes & FILE_ATTRIBUTE_DIRECTORY ? is_link(root, name, length) : 0;
	if (tag)
		*attributes |= FILE_ATTRIBUTE_REPARSE_POINT;
	return tag;
}

// ask_attributes asks for those of a path, which Wine looks for below the process's directory if it is relative.
static NTSTATUS ask_attributes(attributes_function old, OBJECT_ATTRIBUTES *path, void *out, ULONG size, ULONG class)
{
	if (!path->RootDirectory)
		return old(path, out);
	HANDLE h;
	IO_STATUS_BLOCK status;
	NTSTATUS answer = old_open(&h, FILE_READ_ATTRIBUTES, path, &status, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, FILE_OPEN_FOR_BACKUP_INTENT);
	if (answer < 0)
		return answer;
	answer = old_information(h, &status, out, size, class);
	NtClose(h);
	return answer;
}

// by_name asks for a path's attributes, which are at an offset of the answer.
static NTSTATUS by_name(attributes_function old, const OBJECT_ATTRIBUTES *path, void *out, ULONG size, ULONG class, size_t offset)
{
	NTSTATUS answer;
	struct way *w = resolve(path, FALSE, &answer);
	if (!w)
		return answer;
	answer = ask_attributes(old, &w->attributes, out, size, class);
	const UNICODE_STRING *name = w->attributes.ObjectName;
	if (answer >= 0 && name == &w->name)
		mark((ULONG *)((BYTE *)out + offset), w->attributes.RootDirectory, name->Buffer, name->Length / sizeof(WCHAR));
	forget(w);
	return answer;
}

// FILE_BASIC_INFORMATION and FILE_NETWORK_OPEN_INFORMATION:
// https://learn.microsoft.com/windows-hardware/drivers/ddi/wdm/ns-wdm-_file_network_open_information
enum { BASIC_ATTRIBUTES = 32, NETWORK_OPEN_ATTRIBUTES = 48 };

// https://learn.microsoft.com/windows-hardware/drivers/ddi/wdm/ne-wdm-_file_information_class
enum { BASIC = 4, RENAME = 10, DISPOSITION = 13, ALL = 18, NETWORK_OPEN = 34, ATTRIBUTE_TAG = 35, DISPOSITION_EX = 64, RENAME_EX = 65, STAT = 68 };

NTSTATUS WINAPI links_attributes(const OBJECT_ATTRIBUTES *path, void *out) { return by_name(old_attributes, path, out, 40, BASIC, BASIC_ATTRIBUTES); }

NTSTATUS WINAPI links_full_attributes(const OBJECT_ATTRIBUTES *path, void *out) { return by_name(old_full_attributes, path, out, 56, NETWORK_OPEN, NETWORK_OPEN_ATTRIBUTES); }

// mark_with_tag marks a directory's attributes, which the tag follows.
static void mark_with_tag(ULONG *attributes, HANDLE h)
{
	ULONG tag = mark(attributes, h, NULL, 0);
	if (tag)
		attributes[1] = tag;
}

NTSTATUS WINAPI links_information(HANDLE h, IO_STATUS_BLOCK *status, void *out, ULONG size, ULONG class)
{
	NTSTATUS answer = old_information(h, status, out, size, class);
	if (answer < 0 && answer != LINKS_BUFFER_OVERFLOW) // of ALL, the name alone may not fit
		return answer;
	switch (class) {
	case BASIC:
	case ALL:
		mark((ULONG *)((BYTE *)out + BASIC_ATTRIBUTES), h, NULL, 0);
		break;
	case NETWORK_OPEN:
		mark((ULONG *)((BYTE *)out + NETWORK_OPEN_ATTRIBUTES), h, NULL, 0);
		break;
	case ATTRIBUTE_TAG:
		mark_with_tag(out, h);
		break;
	case STAT: // https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/ns-ntifs-_file_stat_information
		mark_with_tag((ULONG *)((BYTE *)out + 56), h);
	}
	return answer;
}

// A renaming has the layout of FILE_RENAME_INFORMATION, whose name has no end.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/ns-ntifs-_file_rename_information
struct renaming {
	ULONG flags;
	HANDLE root;
	ULONG length;
	WCHAR name[PATH_MOST];
};

static NTSTATUS rename_to(HANDLE h, IO_STATUS_BLOCK *status, const struct renaming *to, ULONG class)
{
	UNICODE_STRING name = {(USHORT)to->length, (USHORT)to->length, (WCHAR *)to->name};
	OBJECT_ATTRIBUTES path;
	InitializeObjectAttributes(&path, &name, OBJ_CASE_INSENSITIVE, to->root, NULL);
	NTSTATUS answer;
	struct way *w = resolve(&path, FALSE, &answer);
	if (!w)
		return answer;
	struct renaming *led = HeapAlloc(GetProcessHeap(), 0, sizeof *led);
	if (led) {
		const UNICODE_STRING *end = w->attributes.ObjectName;
		led->flags = to->flags, led->root = w->attributes.RootDirectory, led->length = end->Length;
		memcpy(led->name, end->Buffer, end->Length);
		answer = old_set_information(h, status, led, offsetof(struct renaming, name) + end->Length, class);
	}
	HeapFree(GetProcessHeap(), 0, led);
	forget(w);
	return led ? answer : LINKS_NO_MEMORY;
}

NTSTATUS WINAPI links_set_information(HANDLE h, IO_STATUS_BLOCK *status, void *in, ULONG size, ULONG class)
{
	// A link that is deleted is an empty directory first, or Wine would find its file in it.
	if ((class == DISPOSITION || class == DISPOSITION_EX) && size > 0 && *(BYTE *)in & 1 && is_link(h, NULL, 0))
		unlink_here(h);
	if ((class == RENAME || class == RENAME_EX) && size > offsetof(struct renaming, name) && ((struct renaming *)in)->length < PATH_MOST)
		return rename_to(h, status, in, class);
	return old_set_information(h, status, in, size, class);
}

// name_offset returns where the name begins in an entry of a listing, or 0 for a class without attributes.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/ns-ntifs-_file_id_both_dir_information
static size_t name_offset(ULONG class)
{
	switch (class) {
	case 1: // FileDirectoryInformation
		return 64;
	case 2: // FileFullDirectoryInformation
		return 68;
	case 3: // FileBothDirectoryInformation
		return 94;
	case 37: // FileIdBothDirectoryInformation
		return 104;
	case 38: // FileIdFullDirectoryInformation
		return 80;
	}
	return 0;
}

// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/nf-ntifs-ntquerydirectoryfile
NTSTATUS WINAPI links_list(HANDLE h, HANDLE event, void *apc, void *context, IO_STATUS_BLOCK *status, void *out, ULONG size, ULONG class, BOOLEAN one, UNICODE_STRING *mask, BOOLEAN again)
{
	NTSTATUS answer = old_list(h, event, apc, context, status, out, size, class, one, mask, again);
	const size_t at = name_offset(class);
	if (answer != STATUS_SUCCESS || !at)
		return answer;
	for (BYTE *entry = out;; entry += *(ULONG *)entry) {
		ULONG *attributes = (ULONG *)(entry + 56);
		const ULONG length = *(ULONG *)(entry + 60) / sizeof(WCHAR);
		const WCHAR *name = (const WCHAR *)(entry + at);
		const BOOL dots = name[0] == '.' && (length == 1 || (length == 2 && name[1] == '.'));
		ULONG tag = dots ? 0 : mark(attributes, h, name, length);
		if (tag && class != 1)
			*(ULONG *)(entry + 64) = tag; // EaSize holds the tag of a reparse point
		if (!*(ULONG *)entry)
			return answer;
	}
}
