// SPDX-License-Identifier: Apache-2.0
//
// The functions that take part. A Wine whose functions have another form ends the program.
#include "fake.h"

#include "../harness/patch.h"

static const PATCH hooks[] = {
	{"NtCreateFile", disks_create, (void **)&old_create},
	{"NtOpenFile", disks_open, (void **)&old_open},
	{"NtClose", disks_close, (void **)&old_close},
	{"NtDuplicateObject", disks_duplicate, (void **)&old_duplicate},
	{"NtDeviceIoControlFile", disks_device_control, (void **)&old_device_control},
	{"NtFsControlFile", disks_fs_control, (void **)&old_fs_control},
	{"NtReadFile", disks_read, (void **)&old_read},
	{"NtWriteFile", disks_write, (void **)&old_write},
	{"NtFlushBuffersFile", disks_flush, (void **)&old_flush},
	{"NtQueryVolumeInformationFile", disks_volume_information, (void **)&old_volume_information},
	{"NtQueryInformationFile", disks_information, (void **)&old_information},
	{"NtSetInformationFile", disks_set_information, (void **)&old_set_information},
	{"NtQueryAttributesFile", disks_attributes, (void **)&old_attributes},
	{"NtQueryFullAttributesFile", disks_full_attributes, (void **)&old_full_attributes},
};

static DWORD in_call = TLS_OUT_OF_INDEXES;

// busy reports whether the thread is in a call of this fake, whose own calls are the system's.
BOOL busy(void) { return TlsGetValue(in_call) != NULL; }

void set_busy(BOOL is)
{
	const DWORD code = GetLastError();
	TlsSetValue(in_call, is ? &in_call : NULL);
	SetLastError(code);
}

// The DLL is in a process twice: as bcryptprimitives.dll with the system calls, and as cfgmgr32.dll without. With links beside the disks' files
// the program has them, and mounted folders.
static BOOL install(void)
{
	if ((in_call = TlsAlloc()) == TLS_OUT_OF_INDEXES || !patch_system_calls(hooks, ARRAYSIZE(hooks)))
		return FALSE;
	if (GetFileAttributesW(LINKS) == INVALID_FILE_ATTRIBUTES)
		return TRUE;
	if (!LoadLibraryW(LINKS))
		return FALSE;
	for (const MOUNT_FUNCTION *f = mount_functions; f->name; f++)
		if (!patch_function((BYTE *)(void *)GetProcAddress(GetModuleHandleW(L"kernel32.dll"), f->name), f->with))
			return FALSE;
	return TRUE;
}

BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, void *reserved)
{
	WCHAR path[MAX_PATH];
	(void)reserved;
	if (reason != DLL_PROCESS_ATTACH || !GetModuleFileNameW(self, path, MAX_PATH) || !is_here())
		return TRUE;
	const WCHAR *name = wcsrchr(path, '\\');
	if (name && !_wcsicmp(name + 1, L"cfgmgr32.dll"))
		return TRUE;
	if (!install()) {
		fputs("disks: the ntdll.dll or kernel32.dll of this Wine has another form; see test/windows/fakes/disks\n", stderr);
		ExitProcess(3);
	}
	return TRUE;
}
