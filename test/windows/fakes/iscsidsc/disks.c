// SPDX-License-Identifier: Apache-2.0
//
// What Plug and Play made of a session's LUNs, and the devices that are bound persistently.
#include <stdio.h>
#include <string.h>

#include "fake.h"

static const GUID disk_interface = {0x53f56307, 0xb6bf, 0x11d0, {0x94, 0xf2, 0x00, 0xa0, 0xc9, 0x1e, 0xfb, 0x8b}};

// luns collects the numbers of the disks of a target, "lun TARGET DISK", in the order of the LUNs. As
// go-win-iscsidsc's tests saw, devices can come late: "late TARGET NUMBER" hides them from so many calls.
static ULONG luns(const CALL *call, SESSION *session, ULONG disks[MAX_LUNS])
{
	ULONG count = 0;
	const LINE *line = line_about(call, NULL, "late", session->target);
	if (session->informational || (line && line->words > 2 && session->asked <= number(line->word[2])))
		return 0;
	for (line = line_about(call, NULL, "lun", session->target); line && count < MAX_LUNS;
		 line = line_about(call, line, "lun", session->target))
		if (line->words > 2)
			disks[count++] = number(line->word[2]);
	return count;
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-getdevicesforiscsisessionw
//
// With ERROR_INSUFFICIENT_BUFFER "the location still receives the number of elements the buffer is capable of containing": no
// hint of what is needed. Windows' answer was seen to be the number needed (common-host-libs): "sizes observed".
API GetDevicesForIScsiSessionW(ISCSI_UNIQUE_ID *UniqueSessionId, ULONG *DeviceCount, ISCSI_DEVICE_ON_SESSIONW *Devices)
{
	ENTER(call, "GetDevicesForIScsiSessionW");
	ISDSC_STATUS status;
	ULONG disks[MAX_LUNS];
	SESSION *session = session_find(&call, UniqueSessionId, &status);
	if (!session)
		return leave(&call, status, "unknown");
	if (!is_writable(DeviceCount, sizeof *DeviceCount))
		return leave(&call, refuse(&call, ERROR_INVALID_PARAMETER, "DeviceCount is no ULONG"), "refused");
	ULONG room = Devices ? *DeviceCount : 0;
	if (Devices && !is_writable(Devices, (SIZE_T)room * sizeof *Devices))
		return leave(&call, refuse(&call, ERROR_INVALID_PARAMETER, "Devices has no %lu elements", room), "refused");
	session->asked++;
	ULONG count = luns(&call, session, disks);
	if (count > room) {
		*DeviceCount = control_is(&call.control, "sizes", "observed") ? count : room;
		return leave(&call, ERROR_INSUFFICIENT_BUFFER, "room=%lu of %lu", room, count);
	}
	FillMemory(Devices, room * sizeof *Devices, 0xAB);
	for (ULONG lun = 0; lun < count; lun++, Devices++) {
		ZeroMemory(Devices, sizeof *Devices);
		wcscpy(Devices->InitiatorName, INSTANCE);
		wcscpy(Devices->TargetName, session->target);
		Devices->ScsiAddress.Length = sizeof Devices->ScsiAddress;
		Devices->ScsiAddress.PortNumber = 3;
		Devices->ScsiAddress.TargetId = (UCHAR)session->id;
		Devices->ScsiAddress.Lun = (UCHAR)lun;
		Devices->DeviceInterfaceType = disk_interface;
		_snwprintf(Devices->DeviceInterfaceName, MAX_PATH,
			L"\\\\?\\scsi#disk&ven_fake&prod_disk#1&%I64x&0&0000%02lx#{53f56307-b6bf-11d0-94f2-00a0c91efb8b}", session->id, lun);
		_snwprintf(Devices->LegacyName, MAX_PATH, L"\\\\.\\PhysicalDrive%lu", disks[lun]);
		Devices->StorageDeviceNumber.DeviceType = FILE_DEVICE_DISK;
		Devices->StorageDeviceNumber.DeviceNumber = disks[lun];
		Devices->StorageDeviceNumber.PartitionNumber = 0;
		Devices->DeviceInstance = 100 + disks[lun];
	}
	*DeviceCount = count;
	return leave(&call, ERROR_SUCCESS, "%ls room=%lu of %lu", session->target, room, count);
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-reportactiveiscsitargetmappingsw
API ReportActiveIScsiTargetMappingsW(PULONG BufferSize, PULONG MappingCount, ISCSI_TARGET_MAPPINGW *Mappings)
{
	ENTER(call, "ReportActiveIScsiTargetMappingsW");
	ULONG disks[MAX_LUNS], count = 0;
	SIZE_T needed = 0;
	SESSION *session;
	if (!is_writable(BufferSize, sizeof *BufferSize) || !is_writable(MappingCount, sizeof *MappingCount))
		return leave(&call, refuse(&call, ERROR_INVALID_PARAMETER, "BufferSize or MappingCount is no ULONG"), "refused");
	ULONG room = Mappings ? *BufferSize : 0;
	if (Mappings && !is_writable(Mappings, room))
		return leave(&call, refuse(&call, ERROR_INVALID_PARAMETER, "Mappings has no %lu bytes", room), "refused");
	FOR_LIST (session, call.state->sessions)
		if (session->used && !session->informational) {
			count++;
			needed += sizeof *Mappings + luns(&call, session, disks) * sizeof *Mappings->LUNList;
		}
	*BufferSize = (ULONG)needed;
	if (needed > room)
		return leave(&call, ERROR_INSUFFICIENT_BUFFER, "room=%lu of %lu", room, (ULONG)needed);
	FAKE_LUN_LIST *list = (FAKE_LUN_LIST *)(Mappings + count);
	FOR_LIST (session, call.state->sessions) {
		if (!session->used || session->informational)
			continue;
		ZeroMemory(Mappings, sizeof *Mappings);
		wcscpy(Mappings->InitiatorName, INSTANCE);
		wcscpy(Mappings->TargetName, session->target);
		wcscpy(Mappings->OSDeviceName, L"\\Device\\RaidPort3");
		Mappings->SessionId.AdapterSpecific = session->id;
		Mappings->OSTargetNumber = (ULONG)session->id;
		Mappings->LUNCount = luns(&call, session, disks);
		Mappings->LUNList = list;
		for (ULONG lun = 0; lun < Mappings->LUNCount; lun++, list++) {
			list->OSLUN = lun;
			list->TargetLUN = lun;
		}
		Mappings++;
	}
	*MappingCount = count;
	return leave(&call, ERROR_SUCCESS, "%lu", count);
}

// bindable tells whether a path is a volume of a target with a persistent login: "volume PATH TARGET".
static BOOL bindable(const CALL *call, const WCHAR *path)
{
	LOGIN *login;
	const LINE *line = line_about(call, NULL, "volume", path);
	FOR_LIST (login, call->state->logins)
		if (line && line->words > 2 && login->used && !_wcsicmp(login->target, line->wide[2]))
			return TRUE;
	return FALSE;
}

static ISDSC_STATUS bind_device(CALL *call, const WCHAR *path)
{
	WCHAR(*device)[MAX_PATH];
	WCHAR(*free)[MAX_PATH] = NULL;
	FOR_LIST (device, call->state->devices) {
		if (!_wcsicmp(*device, path))
			return ISDSC_DEVICE_ALREADY_PERSISTENTLY_BOUND;
		if (!**device && !free)
			free = device;
	}
	if (!bindable(call, path))
		return ISDSC_DEVICE_NOT_ISCSI_OR_PERSISTENT;
	if (!free)
		return ERROR_OUTOFMEMORY;
	wcscpy(*free, path);
	return ERROR_SUCCESS;
}

static ISDSC_STATUS check_path(CALL *call, const WCHAR *path)
{
	if (!is_readable(path, sizeof(WCHAR)) || wcsnlen(path, MAX_PATH) == MAX_PATH || !*path)
		return refuse(call, ERROR_INVALID_PARAMETER, "DevicePath is no path");
	return ERROR_SUCCESS;
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-addpersistentiscsidevicew
API AddPersistentIScsiDeviceW(PWSTR DevicePath)
{
	ENTER(call, "AddPersistentIScsiDeviceW");
	ISDSC_STATUS status = check_path(&call, DevicePath);
	if (status != ERROR_SUCCESS)
		return leave(&call, status, "refused");
	return leave(&call, bind_device(&call, DevicePath), "%ls", DevicePath);
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-removepersistentiscsidevicew
API RemovePersistentIScsiDeviceW(PWSTR DevicePath)
{
	ENTER(call, "RemovePersistentIScsiDeviceW");
	WCHAR(*device)[MAX_PATH];
	ISDSC_STATUS status = check_path(&call, DevicePath);
	if (status != ERROR_SUCCESS)
		return leave(&call, status, "refused");
	status = ISDSC_DEVICE_NOT_FOUND;
	FOR_LIST (device, call.state->devices)
		if (!_wcsicmp(*device, DevicePath)) {
			**device = 0;
			status = ERROR_SUCCESS;
		}
	return leave(&call, status, "%ls", DevicePath);
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-clearpersistentiscsidevices
API ClearPersistentIScsiDevices(void)
{
	ENTER(call, "ClearPersistentIScsiDevices");
	ZeroMemory(call.state->devices, sizeof call.state->devices);
	return leave(&call, ERROR_SUCCESS, "");
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-setuppersistentiscsidevices
API SetupPersistentIScsiDevices(void)
{
	ENTER(call, "SetupPersistentIScsiDevices");
	ZeroMemory(call.state->devices, sizeof call.state->devices);
	for (const LINE *line = control_find(&call.control, NULL, "volume"); line; line = control_find(&call.control, line, "volume"))
		bind_device(&call, line->wide[1]);
	return leave(&call, ERROR_SUCCESS, "");
}

// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-reportpersistentiscsidevicesw
API ReportPersistentIScsiDevicesW(PULONG BufferSizeInChar, PWSTR Buffer)
{
	ENTER(call, "ReportPersistentIScsiDevicesW");
	WCHAR(*device)[MAX_PATH];
	ULONG length = 1;
	FOR_LIST (device, call.state->devices)
		length += **device ? (ULONG)wcslen(*device) + 1 : 0;
	length += length == 1;
	if (!is_writable(BufferSizeInChar, sizeof *BufferSizeInChar))
		return leave(&call, refuse(&call, ERROR_INVALID_PARAMETER, "BufferSizeInChar is no ULONG"), "refused");
	ULONG room = Buffer ? *BufferSizeInChar : 0;
	if (Buffer && !is_writable(Buffer, (SIZE_T)room * sizeof(WCHAR)))
		return leave(&call, refuse(&call, ERROR_INVALID_PARAMETER, "Buffer has no %lu characters", room), "refused");
	if (length > room)
		return leave(&call, ERROR_INSUFFICIENT_BUFFER, "room=%lu of %lu", room, length);
	ZeroMemory(Buffer, length * sizeof(WCHAR));
	FOR_LIST (device, call.state->devices)
		if (**device) {
			wcscpy(Buffer, *device);
			Buffer += wcslen(Buffer) + 1;
		}
	*BufferSizeInChar = length;
	return leave(&call, ERROR_SUCCESS, "%lu", length);
}
