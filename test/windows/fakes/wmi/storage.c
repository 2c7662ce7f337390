// SPDX-License-Identifier: Apache-2.0
//
// The provider of the storage classes: https://learn.microsoft.com/windows-hardware/drivers/storage/storage-wmi-classes. Its volumes and
// partitions are those of the control file. It answers from a cache, which "volume PATH late" is not in until
// UpdateHostStorageCache was called: https://learn.microsoft.com/windows-hardware/drivers/storage/msft-storagesetting-updatehoststoragecache
// Methods fail with the return values that their pages list: "error CLASS.METHOD VALUE" orders one.

#include "wmi.h"

#include <stdio.h>

#define CACHE L"cache.txt"
#define SPACE L"ROOT\\Microsoft\\Windows\\Storage"

// The form of an ObjectId on Windows, which has all that a path must escape.
static void set_ids(struct object *object, const wchar_t *kind, const wchar_t *unique)
{
	wchar_t id[512];
	_snwprintf(id, sizeof id / sizeof *id - 1,
		L"{1}\\\\NODE\\root/Microsoft/Windows/Storage/Providers_v2\\WSP_%ls.ObjectId=\"{6f0d0c1e}:%ls\"", kind, unique);
	set_text(object, L"ObjectId", id);
	set_text(object, L"UniqueId", unique);
}

static void add_volume(wchar_t **words, int count, void *argument)
{
	char *cache = read_file(CACHE);
	bool cached = count < 2 || wcscmp(words[1], L"late") || *cache;
	free(cache);
	if (count < 1 || !cached)
		return;
	const struct class *class = find_class(SPACE, L"MSFT_Volume");
	struct object *object = new_object(CLASS_INSTANCE, class, class->properties);
	set_ids(object, L"Volume", words[0]);
	set_text(object, L"Path", words[0]);
	set_number(object, L"DriveType", 3);
	set_number(object, L"HealthStatus", 0);
	append_row(argument, object);
}

// With this folder of the fake disks, whose marks of open volumes are named by their GUIDs, its volumes are known, and one that was formatted has
// a file there.
#define DISKS L"C:\\disks-fake\\"
#define FORMATTED DISKS L"formatted"

void volumes(struct rows *rows)
{
	WIN32_FIND_DATAW found;
	each_fact("volume", add_volume, rows);
	if (GetFileAttributesW(FORMATTED) == INVALID_FILE_ATTRIBUTES)
		return;
	HANDLE search = FindFirstFileW(DISKS L"open\\*{*}", &found);
	for (BOOL more = search != INVALID_HANDLE_VALUE; more; more = FindNextFileW(search, &found)) {
		wchar_t path[64], *words[] = {path};
		_snwprintf(path, 64, L"\\\\?\\Volume%ls\\", wcschr(found.cFileName, L'{'));
		add_volume(words, 1, rows);
	}
	FindClose(search);
}

static void mark_formatted(const wchar_t *path)
{
	wchar_t file[MAX_PATH];
	const wchar_t *guid = path ? wcschr(path, L'{') : NULL;
	if (!guid || GetFileAttributesW(FORMATTED) == INVALID_FILE_ATTRIBUTES)
		return;
	_snwprintf(file, MAX_PATH, FORMATTED L"\\%.38ls", guid);
	CloseHandle(CreateFileW(file, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, 0, NULL));
}

// "partition DISK OFFSET SIZE"
static void add_partition(wchar_t **words, int count, void *argument)
{
	struct rows *rows = argument;
	if (count < 3)
		return;
	const struct class *class = find_class(SPACE, L"MSFT_Partition");
	struct object *object = new_object(CLASS_INSTANCE, class, class->properties);
	wchar_t unique[128];
	_snwprintf(unique, sizeof unique / sizeof *unique - 1, L"PR:\\\\?\\scsi#disk%ls#%ls", words[0], words[1]);
	set_ids(object, L"Partition", unique);
	set_number(object, L"DiskNumber", wcstoul(words[0], NULL, 10));
	set_number(object, L"PartitionNumber", (DWORD)rows->count + 1);
	set_text(object, L"Offset", words[1]);
	set_text(object, L"Size", words[2]);
	append_row(rows, object);
}

void partitions(struct rows *rows)
{
	each_fact("partition", add_partition, rows);
}

// Writes down the in-parameters that were given.
static void record_parameters(const wchar_t *method, const wchar_t *object, struct object *in)
{
	wchar_t line[1024];
	int length = _snwprintf(line, 512, L"%ls %ls", method, object);
	for (size_t i = 0; i < in->fields && length > 0 && length < 800; i++) {
		VARIANT *value = &in->field[i].value;
		if (V_VT(value) == VT_BSTR)
			length += _snwprintf(line + length, 200, L" %ls='%ls'", in->field[i].name, V_BSTR(value) ? V_BSTR(value) : L"");
		else if (V_VT(value) == VT_BOOL)
			length += _snwprintf(line + length, 100, L" %ls=%ls", in->field[i].name, V_BOOL(value) ? L"true" : L"false");
		else if (V_VT(value) == VT_I4)
			length += _snwprintf(line + length, 100, L" %ls=%ld", in->field[i].name, V_I4(value));
	}
	record(L"%ls", line);
}

// https://learn.microsoft.com/windows-hardware/drivers/storage/format-msft-volume
HRESULT volume_format(struct object *instance, struct object *in, struct object *out, DWORD *code)
{
	static const wchar_t *const known[] = {L"ExFAT", L"FAT", L"FAT32", L"NTFS", L"ReFS"};
	const wchar_t *system = get_text(in, L"FileSystem");
	(void)out;
	record_parameters(L"Format", get_text(instance, L"Path"), in);
	*code = system ? 43001 : ERROR_SUCCESS; // the specified file system is not supported
	for (size_t i = 0; system && i < sizeof known / sizeof *known; i++)
		if (_wcsicmp(known[i], system) == 0)
			*code = ERROR_SUCCESS;
	if (*code == ERROR_SUCCESS)
		mark_formatted(get_text(instance, L"Path"));
	return S_OK;
}

// https://learn.microsoft.com/windows-hardware/drivers/storage/msft-partition-resize: Size is required and not zero.
HRESULT partition_resize(struct object *instance, struct object *in, struct object *out, DWORD *code)
{
	const wchar_t *size = get_text(in, L"Size");
	(void)out;
	record_parameters(L"Resize", get_text(instance, L"Offset"), in);
	*code = ERROR_SUCCESS;
	if (!size || !wcscmp(size, L"0")) {
		violation(L"Resize: the required Size is missing or zero");
		*code = 5; // Invalid Parameter
	}
	return S_OK;
}

HRESULT storage_setting_get(struct object *instance, struct object *in, struct object *out, DWORD *code)
{
	(void)instance, (void)in;
	// The text of an embedded instance, with the policy of a Windows Server: disks of shared buses stay offline.
	set_text(out, L"StorageSettings", L"instance of MSFT_StorageSetting\n{\n\tNewDiskPolicy = 2;\n\tScrubPolicy = 1;\n};\n");
	*code = ERROR_SUCCESS;
	return S_OK;
}

HRESULT storage_setting_set(struct object *instance, struct object *in, struct object *out, DWORD *code)
{
	struct field *policy = find_field(in, L"NewDiskPolicy"), *scrub = find_field(in, L"ScrubPolicy");
	(void)instance, (void)out;
	*code = ERROR_SUCCESS;
	if ((V_VT(&policy->value) == VT_I4 && V_I4(&policy->value) > 4) ||
	    (V_VT(&scrub->value) == VT_I4 && (ULONG)V_I4(&scrub->value) > 2)) {
		violation(L"Set: a policy that the page does not list");
		*code = 5; // Invalid Parameter
	}
	return S_OK;
}

HRESULT storage_setting_update(struct object *instance, struct object *in, struct object *out, DWORD *code)
{
	(void)instance, (void)in, (void)out;
	write_file(CACHE, "fresh\n");
	*code = ERROR_SUCCESS;
	return S_OK;
}
