// SPDX-License-Identifier: Apache-2.0
//
// The system calls that take part: as in test/windows/fakes/links, a jump takes the place of each one's 32 bytes, and a copy of them, or what
// a jump that is already there leads to, is the old function. Another form ends the program.
#include "fake.h"

BOOLEAN WINAPI SystemFunction036(void *data, ULONG size); // RtlGenRandom

static const struct {
	const char *name;
	void *with;
	void **old;
} hooks[] = {
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

enum { LENGTH = 32 };

static DWORD in_call = TLS_OUT_OF_INDEXES;

// busy reports whether the thread is in a call of this fake, whose own calls are the system's.
BOOL busy(void) { return TlsGetValue(in_call) != NULL; }

void set_busy(BOOL is)
{
	const DWORD code = GetLastError();
	TlsSetValue(in_call, is ? &in_call : NULL);
	SetLastError(code);
}

static const BYTE jump[] = {0xff, 0x25, 0, 0, 0, 0}; // jmp to the address that follows

static BOOL is_known(const BYTE *code)
{
	static const BYTE start[] = {0x4c, 0x8b, 0xd1, 0xb8};
	static const BYTE rest[] = {0xf6, 0x04, 0x25, 0x08, 0x03, 0xfe, 0x7f, 0x01, 0x75, 0x03, 0x0f, 0x05, 0xc3, 0xeb, 0x01, 0xc3, 0xff, 0x14, 0x25, 0x00, 0x10, 0xfe, 0x7f, 0xc3};
	return !memcmp(code, start, sizeof start) && !memcmp(code + 8, rest, sizeof rest);
}

static BOOL install(void)
{
	HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
	BYTE *copies = VirtualAlloc(NULL, LENGTH * ARRAYSIZE(hooks), MEM_COMMIT | MEM_RESERVE, PAGE_EXECUTE_READWRITE);
	BYTE *code[ARRAYSIZE(hooks)];
	if (!ntdll || !copies || (in_call = TlsAlloc()) == TLS_OUT_OF_INDEXES)
		return FALSE;
	for (size_t i = 0; i < ARRAYSIZE(hooks); i++) {
		BYTE *copy = copies + LENGTH * i;
		code[i] = (BYTE *)(void *)GetProcAddress(ntdll, hooks[i].name);
		if (code[i] && !memcmp(code[i], jump, sizeof jump)) { // the links are there
			memcpy(hooks[i].old, code[i] + sizeof jump, sizeof(void *));
			continue;
		}
		if (!code[i] || !is_known(code[i]))
			return FALSE;
		memcpy(copy, code[i], LENGTH);
		*hooks[i].old = copy;
	}
	for (size_t i = 0; i < ARRAYSIZE(hooks); i++) {
		DWORD before;
		if (!VirtualProtect(code[i], LENGTH, PAGE_EXECUTE_READWRITE, &before))
			return FALSE;
		memcpy(code[i], jump, sizeof jump);
		memcpy(code[i] + sizeof jump, &hooks[i].with, sizeof(void *));
		VirtualProtect(code[i], LENGTH, before, &before);
	}
	return TRUE;
}

// ProcessPrng is what Go programs want of bcryptprimitives.dll, whose place this DLL takes.
// https://learn.microsoft.com/windows/win32/seccng/processprng
__declspec(dllexport) BOOL WINAPI ProcessPrng(BYTE *data, SIZE_T size)
{
	while (size > 0) {
		ULONG part = (ULONG)min(size, (SIZE_T)1 << 20);
		if (!SystemFunction036(data, part))
			return FALSE;
		data += part;
		size -= part;
	}
	return TRUE;
}

// The DLL is in a process twice: as bcryptprimitives.dll with the system calls, and as cfgmgr32.dll without.
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
		fputs("disks: the ntdll.dll of this Wine has another form; see test/windows/fakes/disks\n", stderr);
		ExitProcess(3);
	}
	return TRUE;
}
