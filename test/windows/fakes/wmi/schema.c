// SPDX-License-Identifier: Apache-2.0
//
// The namespaces and the classes with their properties, methods and parameters.

#include "wmi.h"

#define STRINGS (CIM_STRING | CIM_FLAG_ARRAY)

// MSFT_SmbGlobalMapping has no page of its own. Its properties and parameters are those that
// https://pkg.go.dev/github.com/microsoft/wmi/server2019/root/microsoft/windows/smb lists, which Microsoft's wmigen wrote
// from the namespace of a Windows Server 2019. What they mean is told by
// https://learn.microsoft.com/powershell/module/smbshare/new-smbglobalmapping and by the sibling class
// https://learn.microsoft.com/previous-versions/windows/desktop/smb/msft-smbmapping, whose key properties, Status values and
// way to remove it are assumed here, too.
static const struct property smb_global_mapping[] = {
	{L"LocalPath", CIM_STRING, true},
	{L"RemotePath", CIM_STRING, true},
	{L"RequireIntegrity", CIM_BOOLEAN, false},
	{L"RequirePrivacy", CIM_BOOLEAN, false},
	{L"Status", CIM_UINT32, false},
	{L"UseWriteThrough", CIM_BOOLEAN, false},
	{0},
};
static const struct property smb_global_mapping_create_in[] = {
	{L"Credential", CIM_STRING, false},
	{L"DenyAccess", STRINGS, false},
	{L"FullAccess", STRINGS, false},
	{L"LocalPath", CIM_STRING, false},
	{L"Persistent", CIM_BOOLEAN, false},
	{L"RemotePath", CIM_STRING, false},
	{L"RequireIntegrity", CIM_BOOLEAN, false},
	{L"RequirePrivacy", CIM_BOOLEAN, false},
	{L"UseWriteThrough", CIM_BOOLEAN, false},
	{0},
};
static const struct property smb_global_mapping_create_out[] = {
	{L"CreatedMapping", CIM_OBJECT, false},
	{L"ReturnValue", CIM_UINT32, false},
	{0},
};
static const struct property smb_global_mapping_remove_in[] = {{L"Force", CIM_BOOLEAN, false}, {0}};
static const struct property nothing[] = {{0}};
static const struct property return_value[] = {{L"ReturnValue", CIM_UINT32, false}, {0}};
static const struct method smb_global_mapping_methods[] = {
	{L"Create", true, smb_global_mapping_create_in, smb_global_mapping_create_out, smb_global_mapping_create},
	{L"Remove", false, smb_global_mapping_remove_in, return_value, smb_global_mapping_remove},
	{0},
};
static const struct class smb_global_mapping_class = {
	L"ROOT\\Microsoft\\Windows\\SMB", L"MSFT_SmbGlobalMapping", smb_global_mapping, smb_global_mapping_methods,
	smb_global_mappings,
};

// https://learn.microsoft.com/windows-hardware/drivers/storage/msft-storagesetting and the pages of its methods. They show
// neither instances nor a key; the settings come from Get.
static const struct property storage_setting[] = {
	{L"NewDiskPolicy", CIM_UINT16, false},
	{L"ScrubPolicy", CIM_UINT32, false},
	{0},
};
static const struct property storage_setting_get_out[] = {
	{L"ReturnValue", CIM_UINT32, false},
	{L"StorageSettings", CIM_STRING, false},
	{0},
};
static const struct method storage_setting_methods[] = {
	{L"Get", true, nothing, storage_setting_get_out, storage_setting_get},
	{L"Set", true, storage_setting, return_value, storage_setting_set},
	{L"UpdateHostStorageCache", true, nothing, return_value, storage_setting_update},
	{0},
};
static const struct class storage_setting_class = {
	L"ROOT\\Microsoft\\Windows\\Storage", L"MSFT_StorageSetting", storage_setting, storage_setting_methods, NULL,
};

// https://learn.microsoft.com/windows-hardware/drivers/storage/msft-volume and format-msft-volume; the key comes from
// msft-storageobject. Of its methods the fake has Format.
static const struct property volume[] = {
	{L"DedupMode", CIM_UINT32, false},
	{L"DriveLetter", CIM_CHAR16, false},
	{L"DriveType", CIM_UINT32, false},
	{L"FileSystem", CIM_STRING, false},
	{L"FileSystemLabel", CIM_STRING, false},
	{L"FileSystemType", CIM_UINT16, false},
	{L"HealthStatus", CIM_UINT16, false},
	{L"ObjectId", CIM_STRING, true},
	{L"Path", CIM_STRING, false},
	{L"Size", CIM_UINT64, false},
	{L"SizeRemaining", CIM_UINT64, false},
	{L"UniqueId", CIM_STRING, false},
	{0},
};
static const struct property volume_format_in[] = {
	{L"AllocationUnitSize", CIM_UINT32, false},
	{L"Compress", CIM_BOOLEAN, false},
	{L"DisableHeatGathering", CIM_BOOLEAN, false},
	{L"FileSystem", CIM_STRING, false},
	{L"FileSystemLabel", CIM_STRING, false},
	{L"Force", CIM_BOOLEAN, false},
	{L"Full", CIM_BOOLEAN, false},
	{L"SetIntegrityStreams", CIM_BOOLEAN, false},
	{L"ShortFileNameSupport", CIM_BOOLEAN, false},
	{L"UseLargeFRS", CIM_BOOLEAN, false},
	{0},
};
static const struct property volume_format_out[] = {
	{L"ExtendedStatus", CIM_STRING, false},
	{L"FormattedVolume", CIM_STRING, false},
	{L"ReturnValue", CIM_UINT32, false},
	{0},
};
static const struct method volume_methods[] = {
	{L"Format", false, volume_format_in, volume_format_out, volume_format},
	{0},
};
static const struct class volume_class = {
	L"ROOT\\Microsoft\\Windows\\Storage", L"MSFT_Volume", volume, volume_methods, volumes,
};

// https://learn.microsoft.com/windows-hardware/drivers/storage/msft-partition and msft-partition-resize. The page leaves out Offset,
// which https://pkg.go.dev/github.com/microsoft/wmi/server2019/root/microsoft/windows/storage has, a uint64.
static const struct property partition[] = {
	{L"DiskNumber", CIM_UINT32, false},
	{L"DriveLetter", CIM_CHAR16, false},
	{L"GptType", CIM_STRING, false},
	{L"Guid", CIM_STRING, false},
	{L"IsOffline", CIM_BOOLEAN, false},
	{L"IsReadOnly", CIM_BOOLEAN, false},
	{L"ObjectId", CIM_STRING, true},
	{L"Offset", CIM_UINT64, false},
	{L"PartitionNumber", CIM_UINT32, false},
	{L"Size", CIM_UINT64, false},
	{L"UniqueId", CIM_STRING, false},
	{0},
};
static const struct property partition_resize_in[] = {{L"Size", CIM_UINT64, false}, {0}};
static const struct property partition_resize_out[] = {
	{L"ExtendedStatus", CIM_STRING, false},
	{L"ReturnValue", CIM_UINT32, false},
	{0},
};
static const struct method partition_methods[] = {
	{L"Resize", false, partition_resize_in, partition_resize_out, partition_resize},
	{0},
};
static const struct class partition_class = {
	L"ROOT\\Microsoft\\Windows\\Storage", L"MSFT_Partition", partition, partition_methods, partitions,
};

const struct class *const classes[] = {
	&smb_global_mapping_class, &storage_setting_class, &volume_class, &partition_class, NULL,
};

bool is_namespace(const wchar_t *space)
{
	static const wchar_t *const spaces[] = {
		L"ROOT", L"ROOT\\CIMV2", L"ROOT\\Microsoft\\Windows\\SMB", L"ROOT\\Microsoft\\Windows\\Storage",
	};
	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
		if (_wcsicmp(space, spaces[i]) == 0)
			return true;
	return false;
}

const struct class *find_class(const wchar_t *space, const wchar_t *name)
{
	for (const struct class *const *class = classes; *class; class++)
		if (_wcsicmp((*class)->space, space) == 0 && _wcsicmp((*class)->name, name) == 0)
			return *class;
	return NULL;
}

const struct method *find_method(const struct class *class, const wchar_t *name)
{
	for (const struct method *method = class->methods; method->name; method++)
		if (_wcsicmp(method->name, name) == 0)
			return method;
	return NULL;
}
