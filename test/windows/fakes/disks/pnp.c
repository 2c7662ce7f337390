// SPDX-License-Identifier: Apache-2.0
//
// The functions of cfgmgr32.dll by which programs find disks and volumes, and have Plug and Play look for new ones.
// https://learn.microsoft.com/windows/win32/api/cfgmgr32/
#include "fake.h"

typedef ULONG CONFIGRET;
typedef ULONG DEVINST;
typedef struct {
	GUID fmtid;
	ULONG pid;
} PROPERTY_KEY;

#define API __declspec(dllexport) CONFIGRET WINAPI

// https://learn.microsoft.com/windows/win32/api/cfgmgr32/ and the header's values
enum {
	CR_SUCCESS = 0, CR_INVALID_POINTER = 3, CR_INVALID_FLAG = 4, CR_INVALID_DEVNODE = 5, CR_NO_SUCH_DEVNODE = 0xd, CR_FAILURE = 0x13, CR_BUFFER_SMALL = 0x1a, CR_INVALID_DEVICE_ID = 0x1e,
	CR_INVALID_DATA = 0x1f, CR_NO_SUCH_VALUE = 0x25, CR_NO_SUCH_DEVICE_INTERFACE = 0x37,
};
enum { ROOT = 1, ADAPTER = 2, DISK_NODE = 0x1000, VOLUME_NODE = 0x2000, LIST_MOST = 32 * 1024, TYPE_STRING = 0x12, TYPE_UINT32 = 7, TYPE_BOOLEAN = 0x11, TYPE_STRING_LIST = 0x2012 };

#define ROOT_ID L"HTREE\\ROOT\\0"
#define ADAPTER_ID L"PCI\\VEN_1414&DEV_5353\\3&0"

static const GUID disk_class = {0x53f56307, 0xb6bf, 0x11d0, {0x94, 0xf2, 0x00, 0xa0, 0xc9, 0x1e, 0xfb, 0x8b}};
static const GUID volume_class = {0x53f5630d, 0xb6bf, 0x11d0, {0x94, 0xf2, 0x00, 0xa0, 0xc9, 0x1e, 0xfb, 0x8b}};
static const PROPERTY_KEY instance_id = {{0x78c34fc8, 0x104a, 0x4aca, {0x9e, 0xa4, 0x52, 0x4d, 0x52, 0x99, 0x6e, 0x57}}, 256};
static const PROPERTY_KEY enabled = {{0x026e516e, 0xb814, 0x414b, {0x83, 0xcd, 0x85, 0x6d, 0x6f, 0xef, 0x48, 0x22}}, 3};
static const PROPERTY_KEY parent_id = {{0x4340a6c5, 0x93fa, 0x4706, {0x97, 0x2c, 0x7b, 0x64, 0x80, 0x08, 0xa5, 0xa7}}, 8};
static const GUID device_properties = {0xa45c254e, 0xdf1c, 0x4efd, {0x80, 0x20, 0x67, 0xd1, 0x46, 0xa8, 0x50, 0xe0}};
enum { FRIENDLY_NAME = 14, LOCATION_INFO = 15 };

static BOOL same_key(const PROPERTY_KEY *a, const PROPERTY_KEY *b) { return !memcmp(&a->fmtid, &b->fmtid, sizeof a->fmtid) && a->pid == b->pid; }

// answered reports whether control.txt gives the answer.
static BOOL answered(CALL *call, CONFIGRET *answer)
{
	ULONG value;
	if (!answers(call, "answer", &value) && !answers(call, "once", &value))
		return FALSE;
	*answer = value;
	return TRUE;
}

// count_down lets devices arrive that come some lists after they were looked for.
static void count_down(CALL *call)
{
	for (int i = 0; i < call->disk_count; i++) {
		DISK_STATE *state = disk_state(call, &call->disks[i]);
		if (state->arrives && !--state->arrives)
			state->arrived = TRUE;
		call->disks[i].there = state->arrived && !call->disks[i].gone;
	}
	for (int i = 0; i < MAX_VOLUMES; i++)
		if (call->state->volume[i].used && call->state->volume[i].appears)
			call->state->volume[i].appears--;
	volumes_sync(call);
}

// list writes the interfaces of a class, each with its end, and an end of its own: of one device, or with none or an empty name of all. All: also
// those of devices that are gone.
static ULONG list(CALL *call, const GUID *class, const WCHAR *device, BOOL all, WCHAR *text)
{
	WCHAR instance[NAME_MOST], name[NAME_MOST];
	ULONG length = 0;
	if (!memcmp(class, &disk_class, sizeof *class))
		for (int i = 0; i < call->disk_count; i++) {
			disk_instance(&call->disks[i], instance);
			if ((!call->disks[i].there && !(all && disk_state(call, &call->disks[i])->arrived)) || (device && *device && _wcsicmp(device, instance)))
				continue;
			disk_interface(&call->disks[i], name);
			wcscpy(text + length, name);
			length += (ULONG)wcslen(name) + 1;
		}
	if (!memcmp(class, &volume_class, sizeof *class))
		for (const VOLUME *volume = call->state->volume; volume < call->state->volume + MAX_VOLUMES; volume++) {
			volume_instance(call, volume, instance);
			if (!volume_there(call, volume) || (device && *device && _wcsicmp(device, instance)))
				continue;
			volume_interface(call, volume, name);
			wcscpy(text + length, name);
			length += (ULONG)wcslen(name) + 1;
		}
	text[length++] = 0;
	return length;
}

// https://learn.microsoft.com/windows/win32/api/cfgmgr32/nf-cfgmgr32-cm_get_device_interface_list_sizew
API CM_Get_Device_Interface_List_SizeW(ULONG *size, const GUID *class, const WCHAR *device, ULONG flags)
{
	CALL call;
	CONFIGRET answer = CR_SUCCESS;
	WCHAR *text = malloc(LIST_MOST * sizeof *text);
	enter(&call, "CM_Get_Device_Interface_List_SizeW", "");
	if (!size || !class)
		answer = (CONFIGRET)refuse(&call, CR_INVALID_POINTER, "no place for the size, or no class");
	else if (flags > 1)
		answer = (CONFIGRET)refuse(&call, CR_INVALID_FLAG, "flags %lu", flags);
	else if (!answered(&call, &answer)) {
		*size = list(&call, class, device, flags == 1, text);
		count_down(&call); // what arrives, arrives before the caller has its list
	}
	free(text);
	return (CONFIGRET)leave(&call, (NTSTATUS)answer, "class %08lx flags %lu size %lu", class ? class->Data1 : 0, flags, size ? *size : 0);
}

// https://learn.microsoft.com/windows/win32/api/cfgmgr32/nf-cfgmgr32-cm_get_device_interface_listw
API CM_Get_Device_Interface_ListW(const GUID *class, const WCHAR *device, WCHAR *buffer, ULONG size, ULONG flags)
{
	CALL call;
	CONFIGRET answer = CR_SUCCESS;
	WCHAR *text = malloc(LIST_MOST * sizeof *text);
	ULONG length = 0;
	enter(&call, "CM_Get_Device_Interface_ListW", "");
	if (!buffer || !class)
		answer = (CONFIGRET)refuse(&call, CR_INVALID_POINTER, "no buffer, or no class");
	else if (size == 0)
		answer = (CONFIGRET)refuse(&call, CR_INVALID_DATA, "a buffer of no characters");
	else if (flags > 1)
		answer = (CONFIGRET)refuse(&call, CR_INVALID_FLAG, "flags %lu", flags);
	else if (!answered(&call, &answer)) {
		length = list(&call, class, device, flags == 1, text);
		answer = length > size ? CR_BUFFER_SMALL : CR_SUCCESS;
		if (answer == CR_SUCCESS)
			memcpy(buffer, text, length * sizeof *text);
	}
	free(text);
	return (CONFIGRET)leave(&call, (NTSTATUS)answer, "class %08lx flags %lu size %lu of %lu", class ? class->Data1 : 0, flags, length, size);
}

API CM_Get_Device_Interface_List_Size_ExW(ULONG *size, const GUID *class, const WCHAR *device, ULONG flags, HANDLE machine)
{
	(void)machine;
	return CM_Get_Device_Interface_List_SizeW(size, class, device, flags);
}

API CM_Get_Device_Interface_List_ExW(const GUID *class, const WCHAR *device, WCHAR *buffer, ULONG size, ULONG flags, HANDLE machine)
{
	(void)machine;
	return CM_Get_Device_Interface_ListW(class, device, buffer, size, flags);
}

// give answers a property. https://learn.microsoft.com/windows/win32/api/cfgmgr32/nf-cfgmgr32-cm_get_device_interface_propertyw: with too small a
// buffer, or none, the size that is needed.
static CONFIGRET give(ULONG type, const void *data, ULONG needed, ULONG *out_type, BYTE *buffer, ULONG *size)
{
	const ULONG room = *size;
	*out_type = type;
	*size = needed;
	if (room < needed || !buffer)
		return CR_BUFFER_SMALL;
	memcpy(buffer, data, needed);
	return CR_SUCCESS;
}

static CONFIGRET give_text(const WCHAR *text, ULONG *type, BYTE *buffer, ULONG *size) { return give(TYPE_STRING, text, (ULONG)((wcslen(text) + 1) * sizeof *text), type, buffer, size); }

// instance_by_interface finds the instance of an interface.
static BOOL instance_by_interface(CALL *call, const WCHAR *name, WCHAR instance[NAME_MOST])
{
	WCHAR text[NAME_MOST];
	for (int i = 0; i < call->disk_count; i++) {
		disk_interface(&call->disks[i], text);
		disk_instance(&call->disks[i], instance);
		if (disk_state(call, &call->disks[i])->arrived && !_wcsicmp(text, name))
			return TRUE;
	}
	for (const VOLUME *volume = call->state->volume; volume < call->state->volume + MAX_VOLUMES; volume++) {
		volume_interface(call, volume, text);
		volume_instance(call, volume, instance);
		if (volume_there(call, volume) && !_wcsicmp(text, name))
			return TRUE;
	}
	return FALSE;
}

API CM_Get_Device_Interface_PropertyW(const WCHAR *name, const PROPERTY_KEY *key, ULONG *type, BYTE *buffer, ULONG *size, ULONG flags)
{
	CALL call;
	CONFIGRET answer;
	const BYTE yes = 0xff; // DEVPROP_TRUE
	WCHAR *instance = calloc(NAME_MOST, sizeof *instance);
	enter(&call, "CM_Get_Device_Interface_PropertyW", "");
	if (!name || !key || !type || !size)
		answer = (CONFIGRET)refuse(&call, CR_INVALID_POINTER, "a pointer is missing");
	else if (flags)
		answer = (CONFIGRET)refuse(&call, CR_INVALID_FLAG, "flags %lu", flags);
	else if (answered(&call, &answer))
		;
	else if (!instance_by_interface(&call, name, instance))
		answer = CR_NO_SUCH_DEVICE_INTERFACE;
	else if (same_key(key, &instance_id))
		answer = give_text(instance, type, buffer, size);
	else if (same_key(key, &enabled))
		answer = give(TYPE_BOOLEAN, &yes, 1, type, buffer, size);
	else
		answer = CR_NO_SUCH_VALUE;
	free(instance);
	return (CONFIGRET)leave(&call, (NTSTATUS)answer, "'%ls'", name ? name : L"");
}

// A node's instance ID; FALSE for a node that is not there.
static BOOL instance_of(CALL *call, DEVINST node, WCHAR text[NAME_MOST])
{
	if (node == ROOT)
		return wcscpy(text, ROOT_ID) != NULL;
	if (node == ADAPTER)
		return wcscpy(text, ADAPTER_ID) != NULL;
	if (node >= VOLUME_NODE && node < VOLUME_NODE + MAX_VOLUMES && volume_there(call, &call->state->volume[node - VOLUME_NODE])) {
		volume_instance(call, &call->state->volume[node - VOLUME_NODE], text);
		return TRUE;
	}
	const DISK *disk = node >= DISK_NODE && node < VOLUME_NODE ? disk_of(call, node - DISK_NODE) : NULL;
	if (!disk || !disk->there)
		return FALSE;
	disk_instance(disk, text);
	return TRUE;
}

static DEVINST node_of(CALL *call, const WCHAR *id, BOOL phantom)
{
	WCHAR text[NAME_MOST];
	if (!id || !_wcsicmp(id, ROOT_ID))
		return ROOT;
	if (!_wcsicmp(id, ADAPTER_ID))
		return ADAPTER;
	for (int i = 0; i < call->disk_count; i++) {
		disk_instance(&call->disks[i], text);
		if (!_wcsicmp(text, id) && (call->disks[i].there || (phantom && disk_state(call, &call->disks[i])->arrived)))
			return DISK_NODE + call->disks[i].number;
	}
	for (int i = 0; i < MAX_VOLUMES; i++) {
		volume_instance(call, &call->state->volume[i], text);
		if (volume_there(call, &call->state->volume[i]) && !_wcsicmp(text, id))
			return VOLUME_NODE + i;
	}
	return 0;
}

// https://learn.microsoft.com/windows/win32/api/cfgmgr32/nf-cfgmgr32-cm_locate_devnodew: without an ID the root.
API CM_Locate_DevNodeW(DEVINST *node, const WCHAR *id, ULONG flags)
{
	CALL call;
	CONFIGRET answer = CR_SUCCESS;
	enter(&call, "CM_Locate_DevNodeW", "");
	if (!node)
		answer = (CONFIGRET)refuse(&call, CR_INVALID_POINTER, "no place for the node");
	else if (flags > 7)
		answer = (CONFIGRET)refuse(&call, CR_INVALID_FLAG, "flags %lu", flags);
	else if (id && !wcschr(id, '\\'))
		answer = CR_INVALID_DEVICE_ID;
	else if (!answered(&call, &answer) && !(*node = node_of(&call, id, flags & 1)))
		answer = CR_NO_SUCH_DEVNODE;
	return (CONFIGRET)leave(&call, (NTSTATUS)answer, "'%ls' flags %lu", id ? id : L"", flags);
}

// https://learn.microsoft.com/windows/win32/api/cfgmgr32/nf-cfgmgr32-cm_get_parent
API CM_Get_Parent(DEVINST *parent, DEVINST node, ULONG flags)
{
	CALL call;
	CONFIGRET answer = CR_SUCCESS;
	WCHAR *text = calloc(NAME_MOST, sizeof *text);
	enter(&call, "CM_Get_Parent", "");
	if (!parent)
		answer = (CONFIGRET)refuse(&call, CR_INVALID_POINTER, "no place for the node");
	else if (flags)
		answer = (CONFIGRET)refuse(&call, CR_INVALID_FLAG, "flags %lu", flags);
	else if (!instance_of(&call, node, text))
		answer = CR_INVALID_DEVNODE;
	else if (node == ROOT)
		answer = CR_NO_SUCH_DEVNODE;
	else if (!answered(&call, &answer))
		*parent = node >= DISK_NODE && node < VOLUME_NODE ? ADAPTER : ROOT;
	free(text);
	return (CONFIGRET)leave(&call, (NTSTATUS)answer, "node %lu", node);
}

// https://learn.microsoft.com/windows/win32/api/cfgmgr32/nf-cfgmgr32-cm_get_device_id_size: without the end.
API CM_Get_Device_ID_Size(ULONG *size, DEVINST node, ULONG flags)
{
	CALL call;
	CONFIGRET answer = CR_SUCCESS;
	WCHAR *text = calloc(NAME_MOST, sizeof *text);
	enter(&call, "CM_Get_Device_ID_Size", "");
	if (!size)
		answer = (CONFIGRET)refuse(&call, CR_INVALID_POINTER, "no place for the size");
	else if (flags)
		answer = (CONFIGRET)refuse(&call, CR_INVALID_FLAG, "flags %lu", flags);
	else
		*size = instance_of(&call, node, text) ? (ULONG)wcslen(text) : 0;
	free(text);
	return (CONFIGRET)leave(&call, (NTSTATUS)answer, "node %lu", node);
}

// https://learn.microsoft.com/windows/win32/api/cfgmgr32/nf-cfgmgr32-cm_get_device_idw
API CM_Get_Device_IDW(DEVINST node, WCHAR *buffer, ULONG size, ULONG flags)
{
	CALL call;
	CONFIGRET answer = CR_SUCCESS;
	WCHAR *text = calloc(NAME_MOST, sizeof *text);
	enter(&call, "CM_Get_Device_IDW", "");
	if (!buffer)
		answer = (CONFIGRET)refuse(&call, CR_INVALID_POINTER, "no buffer");
	else if (flags)
		answer = (CONFIGRET)refuse(&call, CR_INVALID_FLAG, "flags %lu", flags);
	else if (!instance_of(&call, node, text))
		answer = CR_INVALID_DEVNODE;
	else {
		const ULONG length = (ULONG)wcslen(text);
		memcpy(buffer, text, min(length + 1, size) * sizeof *text);
		answer = length > size ? CR_BUFFER_SMALL : CR_SUCCESS; // the end is left out if there is no room for it
	}
	free(text);
	return (CONFIGRET)leave(&call, (NTSTATUS)answer, "node %lu", node);
}

// https://learn.microsoft.com/windows/win32/api/cfgmgr32/nf-cfgmgr32-cm_get_devnode_status
API CM_Get_DevNode_Status(ULONG *status, ULONG *problem, DEVINST node, ULONG flags)
{
	CALL call;
	CONFIGRET answer = CR_SUCCESS;
	WCHAR *text = calloc(NAME_MOST, sizeof *text);
	enter(&call, "CM_Get_DevNode_Status", "");
	if (!status || !problem)
		answer = (CONFIGRET)refuse(&call, CR_INVALID_POINTER, "a pointer is missing");
	else if (flags)
		answer = (CONFIGRET)refuse(&call, CR_INVALID_FLAG, "flags %lu", flags);
	else if (!instance_of(&call, node, text))
		answer = CR_NO_SUCH_DEVNODE;
	else if (!answered(&call, &answer)) {
		*status = 0x0180600a; // DN_DRIVER_LOADED, DN_STARTED, DN_DISABLEABLE, DN_REMOVABLE, DN_NT_ENUMERATOR, DN_NT_DRIVER
		*problem = 0;
	}
	free(text);
	return (CONFIGRET)leave(&call, (NTSTATUS)answer, "node %lu", node);
}

// https://learn.microsoft.com/windows/win32/api/cfgmgr32/nf-cfgmgr32-cm_get_devnode_propertyw
API CM_Get_DevNode_PropertyW(DEVINST node, const PROPERTY_KEY *key, ULONG *type, BYTE *buffer, ULONG *size, ULONG flags)
{
	CALL call;
	CONFIGRET answer;
	WCHAR *text = calloc(NAME_MOST, sizeof *text);
	enter(&call, "CM_Get_DevNode_PropertyW", "");
	const DISK *disk = node >= DISK_NODE && node < VOLUME_NODE ? disk_of(&call, node - DISK_NODE) : NULL;
	if (!key || !type || !size)
		answer = (CONFIGRET)refuse(&call, CR_INVALID_POINTER, "a pointer is missing");
	else if (flags)
		answer = (CONFIGRET)refuse(&call, CR_INVALID_FLAG, "flags %lu", flags);
	else if (answered(&call, &answer))
		;
	else if (!instance_of(&call, node, text))
		answer = CR_NO_SUCH_DEVNODE;
	else if (same_key(key, &instance_id))
		answer = give_text(text, type, buffer, size);
	else if (same_key(key, &parent_id) && node != ROOT)
		answer = give_text(disk ? ADAPTER_ID : ROOT_ID, type, buffer, size);
	else if (disk && !memcmp(&key->fmtid, &device_properties, sizeof device_properties) && (key->pid == FRIENDLY_NAME || key->pid == LOCATION_INFO)) {
		if (key->pid == FRIENDLY_NAME)
			_snwprintf(text, NAME_MOST, L"%hs %hs SCSI Disk Device", disk->vendor ? disk->vendor : "Msft", disk->product ? disk->product : "Virtual Disk");
		else
			_snwprintf(text, NAME_MOST, L"Bus Number %lu, Target Id %lu, LUN %lu", disk->path, disk->target, disk->lun);
		answer = give_text(text, type, buffer, size);
	} else
		answer = CR_NO_SUCH_VALUE;
	free(text);
	return (CONFIGRET)leave(&call, (NTSTATUS)answer, "node %lu", node);
}

// reenumerate looks for what is new below a node. Asynchronously, it is there two lists later.
static void reenumerate(CALL *call, DEVINST node, BOOL later)
{
	for (int i = 0; i < call->disk_count; i++) {
		DISK_STATE *state = disk_state(call, &call->disks[i]);
		if (node >= DISK_NODE && node != DISK_NODE + call->disks[i].number)
			continue;
		state->shown = call->disks[i].size;
		if (!state->arrived && node < DISK_NODE) {
			state->arrives = later ? 2 : 0;
			state->arrived = !later;
		}
		call->disks[i].there = state->arrived && !call->disks[i].gone;
	}
	volumes_sync(call);
}

// https://learn.microsoft.com/windows/win32/api/cfgmgr32/nf-cfgmgr32-cm_reenumerate_devnode
API CM_Reenumerate_DevNode(DEVINST node, ULONG flags)
{
	enum { SYNCHRONOUS = 1, ASYNCHRONOUS = 4 };
	CALL call;
	CONFIGRET answer = CR_SUCCESS;
	WCHAR *text = calloc(NAME_MOST, sizeof *text);
	enter(&call, "CM_Reenumerate_DevNode", "");
	if (flags > 7 || (flags & SYNCHRONOUS && flags & ASYNCHRONOUS))
		answer = (CONFIGRET)refuse(&call, CR_INVALID_FLAG, "flags %lu", flags);
	else if (!instance_of(&call, node, text))
		answer = CR_INVALID_DEVNODE;
	else if (!answered(&call, &answer))
		reenumerate(&call, node, (flags & ASYNCHRONOUS) != 0);
	free(text);
	return (CONFIGRET)leave(&call, (NTSTATUS)answer, "node %lu flags %lu", node, flags);
}

API CM_Reenumerate_DevNode_Ex(DEVINST node, ULONG flags, HANDLE machine)
{
	(void)machine;
	return CM_Reenumerate_DevNode(node, flags);
}

// https://learn.microsoft.com/windows/win32/api/cfgmgr32/nf-cfgmgr32-cmp_waitnopendinginstallevents
__declspec(dllexport) DWORD WINAPI CMP_WaitNoPendingInstallEvents(DWORD limit)
{
	CALL call;
	ULONG answer = WAIT_OBJECT_0;
	enter(&call, "CMP_WaitNoPendingInstallEvents", "");
	answered(&call, &answer);
	return (DWORD)leave(&call, (NTSTATUS)answer, "limit %lu", limit);
}

// https://learn.microsoft.com/windows/win32/api/cfgmgr32/nf-cfgmgr32-cm_register_notification: it calls nobody.
API CM_Register_Notification(void *filter, void *context, void *callback, HANDLE *notification)
{
	(void)context;
	if (!filter || !callback || !notification)
		return CR_INVALID_POINTER;
	*notification = (HANDLE)(ULONG_PTR)0x6e6f7465;
	return CR_SUCCESS;
}

API CM_Unregister_Notification(HANDLE notification) { return notification ? CR_SUCCESS : CR_INVALID_DATA; }

// https://learn.microsoft.com/windows/win32/api/cfgmgr32/nf-cfgmgr32-cm_mapcrtowin32err
__declspec(dllexport) DWORD WINAPI CM_MapCrToWin32Err(CONFIGRET answer, DWORD otherwise)
{
	switch (answer) {
	case CR_SUCCESS:
		return ERROR_SUCCESS;
	case CR_BUFFER_SMALL:
		return ERROR_INSUFFICIENT_BUFFER;
	case CR_INVALID_FLAG:
		return ERROR_INVALID_FLAGS;
	case CR_INVALID_POINTER:
		return ERROR_INVALID_USER_BUFFER;
	case CR_NO_SUCH_DEVNODE:
	case CR_INVALID_DEVNODE:
		return 0xe000020b;
	case CR_NO_SUCH_VALUE:
		return ERROR_NOT_FOUND;
	}
	return otherwise;
}
