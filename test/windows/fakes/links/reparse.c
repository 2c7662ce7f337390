// SPDX-License-Identifier: Apache-2.0

// Making and deleting reparse points of directories, on the machine's own drive C and what is mounted there.
// https://learn.microsoft.com/openspecs/windows_protocols/ms-fsa/4aeefef8-92c3-4abc-af7a-a610caf8a165 and
// https://learn.microsoft.com/openspecs/windows_protocols/ms-fsa/0b7952d6-9588-4c9c-bbb7-4875014a0fac

#include "links.h"

NTSTATUS NTAPI NtWriteFile(HANDLE, HANDLE, PIO_APC_ROUTINE, void *, IO_STATUS_BLOCK *, void *, ULONG, LARGE_INTEGER *, ULONG *);

#define DATA_INVALID ((NTSTATUS)0xC0000278) // STATUS_IO_REPARSE_DATA_INVALID
#define TAG_INVALID ((NTSTATUS)0xC0000276)
#define TAG_MISMATCH ((NTSTATUS)0xC0000277)
#define NOT_A_REPARSE_POINT ((NTSTATUS)0xC0000275)
#define NOT_EMPTY ((NTSTATUS)0xC0000101) // STATUS_DIRECTORY_NOT_EMPTY

enum { HEADER = 8, DIRECTORY_INFORMATION = 1, STANDARD_INFORMATION = 5 };

static ULONG tag_of(const BYTE *data) { return *(const ULONG *)data; }

static USHORT number_at(const BYTE *data) { return (USHORT)(data[0] | data[1] << 8); }

// name_fits reports whether a name, whose offset and length are at a place of the data, lies in the path buffer.
static BOOL name_fits(const BYTE *data, ULONG size, ULONG at, ULONG names)
{
	const ULONG offset = number_at(data + at), length = number_at(data + at + 2);
	return offset % 2 == 0 && length % 2 == 0 && names + offset + length <= size;
}

// is_valid judges the data of the two tags that are Windows' own links; others are opaque.
// https://learn.microsoft.com/openspecs/windows_protocols/ms-fscc/b41f1cbf-10df-4a47-98d4-1c52a833d913 (symbolic links) and
// https://learn.microsoft.com/openspecs/windows_protocols/ms-fscc/ca069dad-ed16-42aa-b057-b6b207f447cc (mount points)
static BOOL is_valid(const BYTE *data, ULONG size)
{
	static const WCHAR nt[] = L"\\??\\";
	const BOOL symbolic = tag_of(data) == IO_REPARSE_TAG_SYMLINK;
	const ULONG names = symbolic ? 20 : 16;
	if (!symbolic && tag_of(data) != IO_REPARSE_TAG_MOUNT_POINT)
		return TRUE;
	if (size < names || number_at(data + 6) != 0 || !name_fits(data, size, 8, names) || !name_fits(data, size, 12, names) || number_at(data + 10) == 0)
		return FALSE;
	if (symbolic && *(const ULONG *)(data + 16) > 1) // SYMLINK_FLAG_RELATIVE or 0
		return FALSE;
	if (symbolic && *(const ULONG *)(data + 16) == 1)
		return TRUE;
	return number_at(data + 10) > sizeof nt && !memcmp(data + names + number_at(data + 8), nt, sizeof nt - sizeof *nt);
}

static BOOL is_directory(HANDLE h)
{
	struct { LARGE_INTEGER allocated, end; ULONG links; BOOLEAN deleting, directory; } standard = {0};
	IO_STATUS_BLOCK status;
	return old_information(h, &status, &standard, sizeof standard, STANDARD_INFORMATION) >= 0 && standard.directory;
}

// is_empty reports whether a directory, opened once more for its list, has no entry but its own link.
static BOOL is_empty(HANDLE dir)
{
	BYTE entry[1024];
	UNICODE_STRING self = {0};
	OBJECT_ATTRIBUTES attributes;
	IO_STATUS_BLOCK status;
	HANDLE h;
	BOOL empty = TRUE;
	InitializeObjectAttributes(&attributes, &self, OBJ_CASE_INSENSITIVE, dir, NULL);
	const ULONG share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
	if (old_open(&h, FILE_LIST_DIRECTORY | SYNCHRONIZE, &attributes, &status, share, FILE_DIRECTORY_FILE | FILE_SYNCHRONOUS_IO_NONALERT) < 0)
		return FALSE;
	while (empty && old_list(h, NULL, NULL, NULL, &status, entry, sizeof entry, DIRECTORY_INFORMATION, TRUE, NULL, FALSE) == STATUS_SUCCESS) {
		const size_t length = *(ULONG *)(entry + 60) / sizeof(WCHAR);
		const WCHAR *name = (const WCHAR *)(entry + 64);
		const BOOL dots = name[0] == '.' && (length == 1 || (length == 2 && name[1] == '.'));
		empty = dots || (length == ARRAYSIZE(LINK_FILE) - 1 && !_wcsnicmp(name, LINK_FILE, length));
	}
	NtClose(h);
	return empty;
}

static NTSTATUS write_link(HANDLE dir, const void *data, ULONG size)
{
	UNICODE_STRING file;
	OBJECT_ATTRIBUTES attributes;
	IO_STATUS_BLOCK status;
	HANDLE h;
	RtlInitUnicodeString(&file, LINK_FILE);
	InitializeObjectAttributes(&attributes, &file, OBJ_CASE_INSENSITIVE, dir, NULL);
	NTSTATUS answer = old_create(&h, GENERIC_WRITE | SYNCHRONIZE, &attributes, &status, NULL, 0, FILE_SHARE_READ | FILE_SHARE_DELETE, FILE_OVERWRITE_IF,
				     FILE_SYNCHRONOUS_IO_NONALERT | FILE_NON_DIRECTORY_FILE, NULL, 0);
	if (answer < 0)
		return answer;
	answer = NtWriteFile(h, NULL, NULL, NULL, &status, (void *)data, size, NULL, NULL);
	NtClose(h);
	return answer;
}

static BOOL may_write(HANDLE h)
{
	PUBLIC_OBJECT_BASIC_INFORMATION information = {0};
	NtQueryObject(h, ObjectBasicInformation, &information, sizeof information, NULL);
	return (information.GrantedAccess & (FILE_WRITE_DATA | FILE_WRITE_ATTRIBUTES)) != 0;
}

static ULONG tag_now(HANDLE h) { return is_directory(h) ? is_link(h, NULL, 0) : 0; }

NTSTATUS set_reparse_point(HANDLE h, const void *in, ULONG size)
{
	const BYTE *data = in;
	if (!may_write(h))
		return LINKS_ACCESS_DENIED;
	if (size < HEADER || size > LINK_MOST || size != number_at(data + 4) + (ULONG)HEADER)
		return DATA_INVALID;
	if (tag_of(data) <= 1)
		return TAG_INVALID;
	if (!is_valid(data, size))
		return DATA_INVALID;
	if (!is_directory(h))
		return LINKS_NOT_A_DIRECTORY; // of a mount point; links of files are not there
	if (!is_empty(h))
		return NOT_EMPTY;
	const ULONG tag = tag_now(h);
	if (tag && tag != tag_of(data))
		return TAG_MISMATCH;
	return write_link(h, in, size);
}

NTSTATUS delete_reparse_point(HANDLE h, const void *in, ULONG size)
{
	if (!may_write(h))
		return LINKS_ACCESS_DENIED;
	if (size != HEADER || number_at((const BYTE *)in + 4) != 0)
		return DATA_INVALID;
	if (tag_of(in) <= 1)
		return TAG_INVALID;
	const ULONG tag = tag_now(h);
	if (!tag)
		return NOT_A_REPARSE_POINT;
	return tag == tag_of(in) ? unlink_here(h) : TAG_MISMATCH;
}
