// SPDX-License-Identifier: Apache-2.0

// The files by which an emulated node represents its links: see internal/emulated/host_reparse.go.

#include "links.h"

NTSTATUS NTAPI NtReadFile(HANDLE, HANDLE, PIO_APC_ROUTINE, void *, IO_STATUS_BLOCK *, void *, ULONG, LARGE_INTEGER *, ULONG *);
NTSTATUS NTAPI NtDeleteFile(OBJECT_ATTRIBUTES *);

WCHAR node_files[MAX_PATH];

// file_of writes the name of a directory's link file. It returns FALSE if that is too long.
static BOOL file_of(const WCHAR *name, size_t length, WCHAR *text, UNICODE_STRING *out)
{
	if (length + ARRAYSIZE(LINK_FILE) + 1 > PATH_MOST)
		return FALSE;
	memcpy(text, name, length * sizeof *name);
	if (length > 0 && text[length - 1] != '\\')
		text[length++] = '\\';
	memcpy(text + length, LINK_FILE, sizeof LINK_FILE);
	RtlInitUnicodeString(out, text);
	return TRUE;
}

static ULONG read_with(HANDLE root, const WCHAR *name, size_t length, struct link *l, WCHAR *text)
{
	UNICODE_STRING file;
	OBJECT_ATTRIBUTES attributes;
	IO_STATUS_BLOCK status;
	HANDLE h;
	if (!file_of(name, length, text, &file))
		return 0;
	InitializeObjectAttributes(&attributes, &file, OBJ_CASE_INSENSITIVE, root, NULL);
	const ULONG share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
	if (old_open(&h, GENERIC_READ | SYNCHRONIZE, &attributes, &status, share, FILE_SYNCHRONOUS_IO_NONALERT | FILE_NON_DIRECTORY_FILE) < 0)
		return 0;
	NTSTATUS answer = NtReadFile(h, NULL, NULL, NULL, &status, l->data, sizeof l->data, NULL, NULL);
	NtClose(h);
	l->size = (ULONG)status.Information;
	return answer < 0 || l->size < 8 ? 0 : *(ULONG *)l->data;
}

ULONG read_link(HANDLE root, const WCHAR *name, size_t length, struct link *l)
{
	WCHAR *text = HeapAlloc(GetProcessHeap(), 0, PATH_MOST * sizeof *text);
	ULONG tag = text ? read_with(root, name, length, l, text) : 0;
	HeapFree(GetProcessHeap(), 0, text);
	return tag;
}

ULONG is_link(HANDLE root, const WCHAR *name, size_t length)
{
	struct link *l = HeapAlloc(GetProcessHeap(), 0, sizeof *l);
	ULONG tag = l ? read_link(root, name, length, l) : 0;
	HeapFree(GetProcessHeap(), 0, l);
	return tag;
}

NTSTATUS unlink_here(HANDLE dir)
{
	UNICODE_STRING file;
	OBJECT_ATTRIBUTES attributes;
	RtlInitUnicodeString(&file, LINK_FILE);
	InitializeObjectAttributes(&attributes, &file, OBJ_CASE_INSENSITIVE, dir, NULL);
	return NtDeleteFile(&attributes);
}
