// SPDX-License-Identifier: Apache-2.0
//
// Calls the fake as Microsoft's pages have a program call Windows, and says where it answers otherwise. check.sh runs it under Wine and has
// sgdisk judge the disk that it partitions.
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <winioctl.h>
#include <ddk/mountmgr.h>

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

static int failures;

#define EXPECT(condition) (void)((condition) || (failures++, printf("check.c:%d: %s (error %lu)\n", __LINE__, #condition, GetLastError()), 0))
#define FAILS(call, code) (void)(SetLastError(0), EXPECT(!(call)), EXPECT(GetLastError() == (code)))

static const GUID disks = {0x53f56307, 0xb6bf, 0x11d0, {0x94, 0xf2, 0x00, 0xa0, 0xc9, 0x1e, 0xfb, 0x8b}};
static const GUID volumes = {0x53f5630d, 0xb6bf, 0x11d0, {0x94, 0xf2, 0x00, 0xa0, 0xc9, 0x1e, 0xfb, 0x8b}};
static const GUID basic = {0xebd0a0a2, 0xb9e5, 0x4433, {0x87, 0xc0, 0x68, 0xb6, 0xb7, 0x26, 0x99, 0xc7}};
static const GUID reserved = {0xe3c9e316, 0x0b5c, 0x4db8, {0x81, 0x7d, 0xf9, 0x2d, 0xf0, 0x02, 0x15, 0xae}};

static const WCHAR root[] = L"\\\\?\\Volume{0000da7a-0000-0000-0000-000000000000}\\";

typedef ULONG(WINAPI *list_size_function)(ULONG *, const GUID *, const WCHAR *, ULONG);
typedef ULONG(WINAPI *list_function)(const GUID *, const WCHAR *, WCHAR *, ULONG, ULONG);
typedef ULONG(WINAPI *locate_function)(ULONG *, const WCHAR *, ULONG);
typedef ULONG(WINAPI *again_function)(ULONG, ULONG);
static list_size_function list_size;
static list_function list;
static locate_function locate;
static again_function again;

static BOOL control(HANDLE h, DWORD code, const void *in, DWORD in_size, void *out, DWORD out_size, DWORD *got)
{
	DWORD none;
	return DeviceIoControl(h, code, (void *)in, in_size, out, out_size, got ? got : &none, NULL);
}

static HANDLE open(const WCHAR *name, DWORD access) { return CreateFileW(name, access, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, 0, NULL); }

// interfaces counts those of a class and returns one by its place.
static int interfaces(const GUID *class, int place, WCHAR name[512])
{
	static WCHAR text[16384];
	ULONG size = 0;
	int count = 0;
	EXPECT(list_size(&size, class, NULL, 0) == 0);
	if (size > 2)
		EXPECT(list(class, NULL, text, size - 1, 0) == 0x1a); // CR_BUFFER_SMALL
	EXPECT(list(class, NULL, text, ARRAYSIZE(text), 0) == 0);
	for (const WCHAR *at = text; *at; at += wcslen(at) + 1)
		if (count++ == place && name)
			wcscpy(name, at);
	return count;
}

static void check_interfaces(void)
{
	WCHAR name[512];
	ULONG root;
	STORAGE_DEVICE_NUMBER number;
	EXPECT(interfaces(&disks, 1, name) == 2);
	HANDLE h = open(name, 0);
	EXPECT(h != INVALID_HANDLE_VALUE);
	EXPECT(control(h, IOCTL_STORAGE_GET_DEVICE_NUMBER, NULL, 0, &number, sizeof number, NULL));
	EXPECT(number.DeviceType == FILE_DEVICE_DISK && number.DeviceNumber == 1 && number.PartitionNumber == 0);
	FAILS(control(h, IOCTL_STORAGE_GET_DEVICE_NUMBER, NULL, 0, &number, 4, NULL), ERROR_INSUFFICIENT_BUFFER);
	CloseHandle(h);
	EXPECT(locate(&root, NULL, 0) == 0);
	EXPECT(again(root, 5) == 4); // CR_INVALID_FLAG
	EXPECT(again(root, 1) == 0);
	EXPECT(interfaces(&disks, 0, NULL) == 3); // the late one
	FAILS(open(L"\\\\.\\PhysicalDrive7", 0) != INVALID_HANDLE_VALUE, ERROR_FILE_NOT_FOUND);
}

static void check_properties(HANDLE h)
{
	BYTE buffer[1024];
	DWORD got;
	STORAGE_PROPERTY_QUERY query = {StorageDeviceProperty, PropertyStandardQuery, {0}};
	STORAGE_DESCRIPTOR_HEADER header;
	EXPECT(control(h, IOCTL_STORAGE_QUERY_PROPERTY, &query, sizeof query, &header, sizeof header, &got) && got == sizeof header && header.Size > sizeof header);
	EXPECT(control(h, IOCTL_STORAGE_QUERY_PROPERTY, &query, sizeof query, buffer, sizeof buffer, &got) && got == header.Size);
	const STORAGE_DEVICE_DESCRIPTOR *device = (const STORAGE_DEVICE_DESCRIPTOR *)buffer;
	EXPECT(!strcmp((const char *)buffer + device->SerialNumberOffset, "vol0123"));
	EXPECT(device->BusType == 17);
	query.PropertyId = StorageDeviceIdProperty;
	EXPECT(control(h, IOCTL_STORAGE_QUERY_PROPERTY, &query, sizeof query, buffer, sizeof buffer, &got));
	const STORAGE_DEVICE_ID_DESCRIPTOR *ids = (const STORAGE_DEVICE_ID_DESCRIPTOR *)buffer;
	const STORAGE_IDENTIFIER *id = (const STORAGE_IDENTIFIER *)ids->Identifiers;
	EXPECT(ids->NumberOfIdentifiers == 2 && id->Type == StorageIdTypeFCPHName && id->IdentifierSize == 8 && id->Identifier[0] == 0x50);
	id = (const STORAGE_IDENTIFIER *)((const BYTE *)id + id->NextOffset);
	EXPECT(id->Type == StorageIdTypeVendorId && id->IdentifierSize == 13 && !memcmp(id->Identifier, "ACME    x0001", 13));
	query.QueryType = PropertyExistsQuery;
	EXPECT(control(h, IOCTL_STORAGE_QUERY_PROPERTY, &query, sizeof query, NULL, 0, NULL));
	query.PropertyId = (STORAGE_PROPERTY_ID)60;
	EXPECT(!control(h, IOCTL_STORAGE_QUERY_PROPERTY, &query, sizeof query, NULL, 0, NULL));
}

static BOOL set_attributes(HANDLE h, ULONGLONG attributes, ULONGLONG mask)
{
	struct { DWORD version; BOOLEAN persist; BYTE reserved[3]; ULONGLONG attributes, mask; DWORD more[4]; } setting = {40, TRUE, {0}, attributes, mask, {0}};
	return control(h, CTL_CODE(7, 0x3d, METHOD_BUFFERED, FILE_READ_ACCESS | FILE_WRITE_ACCESS), &setting, sizeof setting, NULL, 0, NULL);
}

static void check_access(void)
{
	GET_LENGTH_INFORMATION length;
	BYTE sector[512];
	DWORD got;
	HANDLE h = open(L"\\\\.\\PhysicalDrive1", 0), r = open(L"\\\\.\\PhysicalDrive1", GENERIC_READ);
	FAILS(control(h, IOCTL_DISK_GET_LENGTH_INFO, NULL, 0, &length, sizeof length, NULL), ERROR_ACCESS_DENIED);
	EXPECT(control(r, IOCTL_DISK_GET_LENGTH_INFO, NULL, 0, &length, sizeof length, NULL) && length.Length.QuadPart == 10ll << 30);
	FAILS(set_attributes(r, 0, 1), ERROR_ACCESS_DENIED);
	EXPECT(ReadFile(r, sector, sizeof sector, &got, NULL) && got == sizeof sector);
	EXPECT(SetFilePointer(r, 100, NULL, FILE_BEGIN) == 100);
	FAILS(ReadFile(r, sector, sizeof sector, &got, NULL), ERROR_INVALID_PARAMETER);
	FAILS(WriteFile(r, sector, sizeof sector, &got, NULL), ERROR_ACCESS_DENIED);
	HANDLE alone = CreateFileW(L"\\\\.\\PhysicalDrive1", GENERIC_READ, FILE_SHARE_WRITE, NULL, OPEN_EXISTING, 0, NULL);
	EXPECT(alone == INVALID_HANDLE_VALUE && GetLastError() == ERROR_SHARING_VIOLATION);
	CloseHandle(h);
	CloseHandle(r);
}

static void check_attributes(HANDLE h)
{
	struct { DWORD version, reserved; ULONGLONG attributes; } now;
	const DWORD get = CTL_CODE(7, 0x3c, METHOD_BUFFERED, FILE_ANY_ACCESS);
	EXPECT(control(h, get, NULL, 0, &now, sizeof now, NULL) && now.version == 16 && now.attributes == 1);
	EXPECT(set_attributes(h, 2, 3));
	EXPECT(control(h, get, NULL, 0, &now, sizeof now, NULL) && now.attributes == 2);
	FAILS(control(h, IOCTL_DISK_IS_WRITABLE, NULL, 0, NULL, 0, NULL), ERROR_WRITE_PROTECT);
	EXPECT(set_attributes(h, 0, 2));
	EXPECT(control(h, IOCTL_DISK_IS_WRITABLE, NULL, 0, NULL, 0, NULL));
}

static void check_partitions(HANDLE h)
{
	static BYTE buffer[48 + 144 * 8];
	DRIVE_LAYOUT_INFORMATION_EX *layout = (DRIVE_LAYOUT_INFORMATION_EX *)buffer;
	CREATE_DISK create = {.PartitionStyle = PARTITION_STYLE_GPT};
	DWORD got;
	EXPECT(control(h, IOCTL_DISK_GET_DRIVE_LAYOUT_EX, NULL, 0, buffer, sizeof buffer, NULL) && layout->PartitionStyle == PARTITION_STYLE_RAW && layout->PartitionCount == 0);
	create.Gpt.DiskId.Data1 = 0xc0ffee;
	create.Gpt.DiskId.Data4[7] = 1;
	EXPECT(control(h, IOCTL_DISK_CREATE_DISK, &create, sizeof create, NULL, 0, NULL));
	EXPECT(control(h, IOCTL_DISK_UPDATE_PROPERTIES, NULL, 0, NULL, 0, NULL));
	FAILS(control(h, IOCTL_DISK_GET_DRIVE_LAYOUT_EX, NULL, 0, buffer, 191, NULL), ERROR_INSUFFICIENT_BUFFER);
	EXPECT(control(h, IOCTL_DISK_GET_DRIVE_LAYOUT_EX, NULL, 0, buffer, sizeof buffer, &got) && got == 48 + 144);
	EXPECT(layout->PartitionStyle == PARTITION_STYLE_GPT && layout->Gpt.DiskId.Data1 == 0xc0ffee && layout->Gpt.MaxPartitionCount == 128);
	EXPECT(layout->Gpt.StartingUsableOffset.QuadPart == 34 * 512 && layout->Gpt.UsableLength.QuadPart == (10ll << 30) - 67 * 512);
	EXPECT(!memcmp(&layout->PartitionEntry[0].Gpt.PartitionType, &reserved, sizeof reserved));
	PARTITION_INFORMATION_EX *data = &layout->PartitionEntry[1];
	data->PartitionStyle = PARTITION_STYLE_GPT;
	data->StartingOffset.QuadPart = 16 << 20;
	data->PartitionLength.QuadPart = (10ll << 30) - (17 << 20);
	data->RewritePartition = TRUE;
	data->Gpt.PartitionType = basic;
	data->Gpt.PartitionId.Data1 = 0xda7a;
	wcscpy(data->Gpt.Name, L"Basic data partition");
	layout->PartitionCount = 2;
	EXPECT(control(h, IOCTL_DISK_SET_DRIVE_LAYOUT_EX, buffer, 48 + 2 * 144, NULL, 0, NULL));
	data->PartitionLength.QuadPart = 10ll << 30; // beyond the end
	FAILS(control(h, IOCTL_DISK_SET_DRIVE_LAYOUT_EX, buffer, 48 + 2 * 144, NULL, 0, NULL), ERROR_INVALID_PARAMETER);
	EXPECT(control(h, IOCTL_DISK_GET_DRIVE_LAYOUT_EX, NULL, 0, buffer, sizeof buffer, &got) && layout->PartitionCount == 2 && data->PartitionNumber == 2);
	EXPECT(data->PartitionLength.QuadPart == (10ll << 30) - (17 << 20) && !wcscmp(data->Gpt.Name, L"Basic data partition"));
}

static BOOL found_volume(const WCHAR *wanted)
{
	WCHAR name[64];
	BOOL found = FALSE;
	HANDLE search = FindFirstVolumeW(name, ARRAYSIZE(name));
	EXPECT(search != INVALID_HANDLE_VALUE);
	do
		found = found || !_wcsicmp(name, wanted);
	while (FindNextVolumeW(search, name, ARRAYSIZE(name)));
	EXPECT(GetLastError() == ERROR_NO_MORE_FILES);
	FindVolumeClose(search);
	return found;
}

// The partition opens its volume, which tells its device's name; the mount manager tells the volume's name by that one.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/mountmgr/ni-mountmgr-ioctl_mountdev_query_device_name
// https://learn.microsoft.com/windows-hardware/drivers/ddi/mountmgr/ni-mountmgr-ioctl_mountmgr_query_points
static void check_partition_name(void)
{
	static const WCHAR link[] = L"\\??\\Volume{0000da7a-0000-0000-0000-000000000000}";
	struct { USHORT length; WCHAR name[64]; } device;
	struct { MOUNTMGR_MOUNT_POINT point; WCHAR name[64]; } asked = {0};
	struct { MOUNTMGR_MOUNT_POINTS points; BYTE names[512]; } answer;
	DWORD got;
	HANDLE h = open(L"\\\\?\\GLOBALROOT\\Device\\Harddisk1\\Partition2", 0), manager = open(L"\\\\.\\MountPointManager", 0);
	EXPECT(control(h, IOCTL_MOUNTDEV_QUERY_DEVICE_NAME, NULL, 0, &device, sizeof device, &got) && got == 2u + device.length);
	asked.point.DeviceNameOffset = sizeof asked.point;
	asked.point.DeviceNameLength = device.length;
	memcpy(asked.name, device.name, device.length);
	FAILS(control(manager, IOCTL_MOUNTMGR_QUERY_POINTS, &asked, sizeof asked, &answer, sizeof answer.points, NULL), ERROR_MORE_DATA);
	EXPECT(control(manager, IOCTL_MOUNTMGR_QUERY_POINTS, &asked, sizeof asked, &answer, sizeof answer, NULL) && answer.points.NumberOfMountPoints == 1);
	const MOUNTMGR_MOUNT_POINT *point = answer.points.MountPoints;
	EXPECT(point->SymbolicLinkNameLength == sizeof link - sizeof *link && !memcmp((BYTE *)&answer + point->SymbolicLinkNameOffset, link, sizeof link - sizeof *link));
	EXPECT(open(L"\\\\?\\GLOBALROOT\\Device\\Harddisk1\\Partition9", 0) == INVALID_HANDLE_VALUE && GetLastError() == ERROR_FILE_NOT_FOUND);
	CloseHandle(manager);
	CloseHandle(h);
}

static void check_volume(void)
{
	static const WCHAR device[] = L"\\\\?\\Volume{0000da7a-0000-0000-0000-000000000000}";
	WCHAR name[512], system[32];
	BYTE small[sizeof(VOLUME_DISK_EXTENTS)], sector[512] = "a sector";
	VOLUME_DISK_EXTENTS *extents = (VOLUME_DISK_EXTENTS *)small;
	STORAGE_DEVICE_NUMBER number;
	DWORD got;
	// Behind the system disk's EFI partition and drive C.
	EXPECT(interfaces(&volumes, 2, name) == 3 && wcsstr(name, L"#0000000001000000#{53f5630d-"));
	EXPECT(found_volume(root));
	HANDLE h = open(device, GENERIC_READ | GENERIC_WRITE), other = open(name, 0);
	EXPECT(h != INVALID_HANDLE_VALUE && other != INVALID_HANDLE_VALUE);
	EXPECT(control(other, IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, NULL, 0, small, sizeof small, &got) && got == sizeof small);
	EXPECT(extents->NumberOfDiskExtents == 1 && extents->Extents[0].DiskNumber == 1 && extents->Extents[0].StartingOffset.QuadPart == 16 << 20);
	FAILS(control(other, IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, NULL, 0, small, 8, &got), ERROR_INVALID_PARAMETER);
	EXPECT(control(other, IOCTL_STORAGE_GET_DEVICE_NUMBER, NULL, 0, &number, sizeof number, NULL) && number.DeviceNumber == 1 && number.PartitionNumber == 2);
	FAILS(control(h, FSCTL_LOCK_VOLUME, NULL, 0, NULL, 0, NULL), ERROR_ACCESS_DENIED);
	CloseHandle(other);
	EXPECT(control(h, FSCTL_LOCK_VOLUME, NULL, 0, NULL, 0, NULL));
	FAILS(open(device, 0) != INVALID_HANDLE_VALUE, ERROR_ACCESS_DENIED);
	EXPECT(control(h, FSCTL_UNLOCK_VOLUME, NULL, 0, NULL, 0, NULL));
	EXPECT(WriteFile(h, sector, sizeof sector, &got, NULL) && FlushFileBuffers(h));
	FAILS(control(h, IOCTL_VOLUME_IS_OFFLINE, NULL, 0, NULL, 0, NULL), ERROR_GEN_FAILURE);
	EXPECT(GetVolumeInformationByHandleW(h, NULL, 0, NULL, NULL, NULL, system, ARRAYSIZE(system)) && !wcscmp(system, L"RAW"));
	CloseHandle(h);
	h = CreateFileW(root, 0, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
	EXPECT(h == INVALID_HANDLE_VALUE && GetLastError() == ERROR_UNRECOGNIZED_VOLUME);
	h = open(L"\\\\.\\PhysicalDrive1", GENERIC_READ);
	memset(sector, 0, sizeof sector);
	SetFilePointer(h, 16 << 20, NULL, FILE_BEGIN);
	EXPECT(ReadFile(h, sector, sizeof sector, &got, NULL) && !strcmp((char *)sector, "a sector"));
	CloseHandle(h);
}

static void append(const char *line)
{
	DWORD written;
	HANDLE h = CreateFileW(L"C:\\disks-fake\\control.txt", FILE_APPEND_DATA, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL);
	EXPECT(WriteFile(h, line, (DWORD)strlen(line), &written, NULL));
	CloseHandle(h);
}

static HANDLE open_link(const WCHAR *name, DWORD access)
{
	return CreateFileW(name, access, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
}

static void put_file(const WCHAR *name, const char *text)
{
	DWORD written;
	HANDLE h = CreateFileW(name, GENERIC_WRITE, 0, NULL, CREATE_NEW, 0, NULL);
	EXPECT(h != INVALID_HANDLE_VALUE && WriteFile(h, text, (DWORD)strlen(text), &written, NULL));
	CloseHandle(h);
}

static BOOL has_file(const WCHAR *name, const char *want)
{
	char text[64] = "";
	DWORD got = 0;
	HANDLE h = open(name, GENERIC_READ);
	ReadFile(h, text, sizeof text - 1, &got, NULL);
	CloseHandle(h);
	return !strcmp(text, want);
}

// symlink_data makes a symbolic link's data: https://learn.microsoft.com/openspecs/windows_protocols/ms-fscc/b41f1cbf-10df-4a47-98d4-1c52a833d913
static DWORD symlink_data(const WCHAR *target, BYTE data[512])
{
	const USHORT length = (USHORT)(wcslen(target) * sizeof *target);
	const USHORT head[10] = {IO_REPARSE_TAG_SYMLINK & 0xffff, IO_REPARSE_TAG_SYMLINK >> 16, 12 + 2 * length - 8, 0, 0, length, length, length - 8, 0, 0};
	memcpy(data, head, sizeof head);
	memcpy(data + 20, target, length);
	memcpy(data + 20 + length, target + 4, length - 8); // to be shown, without the prefix
	return 20 + 2 * length - 8;
}

static void check_final_path(const WCHAR *file, DWORD flags, const WCHAR *want)
{
	WCHAR got[512] = L"";
	HANDLE h = open(file, GENERIC_READ);
	EXPECT(GetFinalPathNameByHandleW(h, got, ARRAYSIZE(got), flags) == wcslen(want) && !_wcsicmp(got, want));
	EXPECT(GetFinalPathNameByHandleW(h, got, 3, flags) == wcslen(want) + 1);
	CloseHandle(h);
}

static void check_mounts(void)
{
	static const WCHAR folder[] = L"C:\\mnt\\folder\\";
	WCHAR name[512];
	DWORD size = 0;
	append("filesystem 1 2 NTFS\n");
	EXPECT(CreateDirectoryW(L"C:\\mnt", NULL) && CreateDirectoryW(folder, NULL) && CreateDirectoryW(L"C:\\mnt\\full", NULL));
	put_file(L"C:\\mnt\\full\\file", "in the way");
	FAILS(GetVolumeNameForVolumeMountPointW(folder, name, ARRAYSIZE(name)), ERROR_NOT_A_REPARSE_POINT);
	FAILS(SetVolumeMountPointW(L"C:\\mnt\\full\\", root), ERROR_DIR_NOT_EMPTY);
	FAILS(SetVolumeMountPointW(L"C:\\mnt\\missing\\", root), ERROR_FILE_NOT_FOUND);
	FAILS(SetVolumeMountPointW(folder, L"\\\\?\\Volume{11111111-0000-0000-0000-000000000000}\\"), ERROR_FILE_NOT_FOUND);
	EXPECT(GetVolumePathNamesForVolumeNameW(root, name, ARRAYSIZE(name), &size) && size == 1 && !*name);
	EXPECT(SetVolumeMountPointW(folder, root));
	FAILS(SetVolumeMountPointW(folder, root), ERROR_DIR_NOT_EMPTY);
	EXPECT(GetFileAttributesW(L"C:\\mnt\\folder") == (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT));
	EXPECT(GetVolumeNameForVolumeMountPointW(folder, name, ARRAYSIZE(name)) && !_wcsicmp(name, root));
	FAILS(GetVolumeNameForVolumeMountPointW(folder, name, 49), ERROR_FILENAME_EXCED_RANGE);
	FAILS(GetVolumePathNamesForVolumeNameW(root, name, 4, &size), ERROR_MORE_DATA);
	EXPECT(size == ARRAYSIZE(folder) + 1);
	EXPECT(GetVolumePathNamesForVolumeNameW(root, name, size, &size) && !wcscmp(name, folder) && !name[ARRAYSIZE(folder)]);
	put_file(L"C:\\mnt\\folder\\file", "on the volume");
	EXPECT(has_file(L"\\\\?\\Volume{0000da7a-0000-0000-0000-000000000000}\\file", "on the volume"));
	check_final_path(L"C:\\mnt\\folder\\file", VOLUME_NAME_DOS, L"\\\\?\\C:\\mnt\\folder\\file");
	check_final_path(L"C:\\mnt\\folder\\file", VOLUME_NAME_GUID, L"\\\\?\\Volume{0000da7a-0000-0000-0000-000000000000}\\file");
	check_final_path(L"C:\\mnt\\folder\\file", VOLUME_NAME_NONE, L"\\file");
	check_final_path(L"C:\\mnt\\full\\file", VOLUME_NAME_DOS, L"\\\\?\\C:\\mnt\\full\\file");
	EXPECT(GetVolumePathNameW(L"C:\\mnt\\folder\\file", name, ARRAYSIZE(name)) && !wcscmp(name, folder));
}

static void check_links(void)
{
	BYTE data[512], back[512], tag[8] = {0};
	DWORD got, length = symlink_data(L"\\??\\C:\\mnt\\folder", data);
	EXPECT(CreateDirectoryW(L"C:\\mnt\\link", NULL));
	HANDLE h = open_link(L"C:\\mnt\\link", GENERIC_READ);
	FAILS(control(h, FSCTL_GET_REPARSE_POINT, NULL, 0, back, sizeof back, &got), ERROR_NOT_A_REPARSE_POINT);
	FAILS(control(h, FSCTL_SET_REPARSE_POINT, data, length, NULL, 0, NULL), ERROR_ACCESS_DENIED);
	CloseHandle(h);
	h = open_link(L"C:\\mnt\\link", GENERIC_READ | GENERIC_WRITE);
	FAILS(control(h, FSCTL_SET_REPARSE_POINT, data, length - 2, NULL, 0, NULL), ERROR_INVALID_REPARSE_DATA);
	data[10]++; // the name has an odd length
	FAILS(control(h, FSCTL_SET_REPARSE_POINT, data, length, NULL, 0, NULL), ERROR_INVALID_REPARSE_DATA);
	data[10]--;
	EXPECT(control(h, FSCTL_SET_REPARSE_POINT, data, length, NULL, 0, NULL));
	EXPECT(control(h, FSCTL_GET_REPARSE_POINT, NULL, 0, back, sizeof back, &got) && got == length && !memcmp(back, data, length));
	*(DWORD *)tag = IO_REPARSE_TAG_MOUNT_POINT;
	FAILS(control(h, FSCTL_DELETE_REPARSE_POINT, tag, sizeof tag, NULL, 0, NULL), ERROR_REPARSE_TAG_MISMATCH);
	CloseHandle(h);
	EXPECT(has_file(L"C:\\mnt\\link\\file", "on the volume"));
	EXPECT(RemoveDirectoryW(L"C:\\mnt\\link") && GetFileAttributesW(L"C:\\mnt\\link") == INVALID_FILE_ATTRIBUTES);
	h = open_link(L"C:\\mnt\\full", GENERIC_WRITE);
	FAILS(control(h, FSCTL_SET_REPARSE_POINT, data, length, NULL, 0, NULL), ERROR_DIR_NOT_EMPTY);
	CloseHandle(h);
	// The file stays, where the mounted folder is deleted.
	WCHAR name[512];
	EXPECT(DeleteVolumeMountPointW(L"C:\\mnt\\folder\\"));
	EXPECT(GetFileAttributesW(L"C:\\mnt\\folder") == FILE_ATTRIBUTE_DIRECTORY && GetFileAttributesW(L"C:\\mnt\\folder\\file") == INVALID_FILE_ATTRIBUTES);
	EXPECT(GetVolumePathNamesForVolumeNameW(root, name, ARRAYSIZE(name), &got) && got == 1);
	EXPECT(has_file(L"\\\\?\\Volume{0000da7a-0000-0000-0000-000000000000}\\file", "on the volume"));
	h = open(L"\\\\?\\Volume{0000da7a-0000-0000-0000-000000000000}\\file", GENERIC_READ);
	FAILS(GetFinalPathNameByHandleW(h, name, ARRAYSIZE(name), VOLUME_NAME_DOS), ERROR_PATH_NOT_FOUND);
	CloseHandle(h);
	FAILS(DeleteVolumeMountPointW(L"C:\\mnt\\folder\\"), ERROR_NOT_A_REPARSE_POINT);
}

int main(void)
{
	HMODULE hooks = LoadLibraryW(L"bcryptprimitives.dll"), manager = LoadLibraryW(L"cfgmgr32.dll");
	EXPECT(hooks && manager);
	list_size = (list_size_function)(void *)GetProcAddress(manager, "CM_Get_Device_Interface_List_SizeW");
	list = (list_function)(void *)GetProcAddress(manager, "CM_Get_Device_Interface_ListW");
	locate = (locate_function)(void *)GetProcAddress(manager, "CM_Locate_DevNodeW");
	again = (again_function)(void *)GetProcAddress(manager, "CM_Reenumerate_DevNode");
	check_interfaces();
	HANDLE h = open(L"\\\\.\\PhysicalDrive1", GENERIC_READ | GENERIC_WRITE);
	EXPECT(h != INVALID_HANDLE_VALUE);
	check_properties(h);
	check_attributes(h);
	check_partitions(h);
	CloseHandle(h);
	check_access();
	check_volume();
	check_partition_name();
	check_mounts();
	check_links();
	printf("%d failures\n", failures);
	return failures != 0;
}
