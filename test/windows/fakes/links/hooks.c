// SPDX-License-Identifier: Apache-2.0

// The functions that take part. Those of ntdll.dll are all of one form, like Windows': 32 bytes that do not depend on where they are and enter the
// system. A copy of them is the old function, and a jump in their place leads to the new one. CreateFileW begins with eight bytes that do nothing, to
// be replaced by such a jump. Another form ends the program.

#include <stdio.h>

#include "links.h"

struct hook {
	const char *name;
	void *with;
	void **old;
};

static const struct hook hooks[] = {
	{"NtCreateFile", links_create, (void **)&old_create},
	{"NtOpenFile", links_open, (void **)&old_open},
	{"NtFsControlFile", links_control, (void **)&old_control},
	{"NtQueryAttributesFile", links_attributes, (void **)&old_attributes},
	{"NtQueryFullAttributesFile", links_full_attributes, (void **)&old_full_attributes},
	{"NtQueryInformationFile", links_information, (void **)&old_information},
	{"NtSetInformationFile", links_set_information, (void **)&old_set_information},
	{"NtQueryDirectoryFile", links_list, (void **)&old_list},
};

enum { LENGTH = 32 };

// is_known reports whether code is mov r10, rcx; mov eax, NUMBER; test byte [0x7ffe0308], 1; …; call [0x7ffe1000]; ret.
static BOOL is_known(const BYTE *code)
{
	static const BYTE start[] = {0x4c, 0x8b, 0xd1, 0xb8};
	static const BYTE rest[] = {0xf6, 0x04, 0x25, 0x08, 0x03, 0xfe, 0x7f, 0x01, 0x75, 0x03, 0x0f, 0x05,
				    0xc3, 0xeb, 0x01, 0xc3, 0xff, 0x14, 0x25, 0x00, 0x10, 0xfe, 0x7f, 0xc3};
	return !memcmp(code, start, sizeof start) && !memcmp(code + 8, rest, sizeof rest);
}

static const BYTE jump[] = {0xff, 0x25, 0, 0, 0, 0}; // jmp to the address that follows

static void put_jump(BYTE *at, const void *to)
{
	memcpy(at, jump, sizeof jump);
	memcpy(at + sizeof jump, &to, sizeof to);
}

// page_before returns memory that a near jump from code can reach.
static BYTE *page_before(BYTE *code)
{
	const ULONG_PTR step = 1 << 16;
	for (ULONG_PTR at = ((ULONG_PTR)code & ~(step - 1)) - step, n = 0; n < (1u << 30) / step; at -= step, n++) {
		BYTE *page = VirtualAlloc((void *)at, 1, MEM_COMMIT | MEM_RESERVE, PAGE_EXECUTE_READWRITE);
		if (page)
			return page;
	}
	return NULL;
}

static BOOL install_create_file(void)
{
	static const BYTE nothing[] = {0x48, 0x8d, 0xa4, 0x24, 0, 0, 0, 0}; // lea rsp, [rsp]
	BYTE *code = (BYTE *)(void *)GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), "CreateFileW"), *page;
	DWORD before;
	if (!code || memcmp(code, nothing, sizeof nothing) || !(page = page_before(code)) || !VirtualProtect(code, sizeof nothing, PAGE_EXECUTE_READWRITE, &before))
		return FALSE;
	put_jump(page, (void *)links_create_file);
	old_create_file = (create_file_function)(void *)(code + sizeof nothing);
	const LONG distance = (LONG)(page - (code + 5));
	memcpy(code + 1, &distance, sizeof distance);
	code[0] = 0xe9; // jmp
	return VirtualProtect(code, sizeof nothing, before, &before);
}

static BOOL install(void)
{
	HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
	BYTE *copies = VirtualAlloc(NULL, LENGTH * ARRAYSIZE(hooks), MEM_COMMIT | MEM_RESERVE, PAGE_EXECUTE_READWRITE);
	if (!ntdll || !copies)
		return FALSE;
	for (size_t i = 0; i < ARRAYSIZE(hooks); i++) {
		BYTE *code = (BYTE *)(void *)GetProcAddress(ntdll, hooks[i].name), *copy = copies + LENGTH * i;
		if (!code || !is_known(code))
			return FALSE;
		memcpy(copy, code, LENGTH);
		*hooks[i].old = copy;
	}
	for (size_t i = 0; i < ARRAYSIZE(hooks); i++) {
		BYTE *code = (BYTE *)(void *)GetProcAddress(ntdll, hooks[i].name);
		DWORD before;
		if (!VirtualProtect(code, LENGTH, PAGE_EXECUTE_READWRITE, &before))
			return FALSE;
		put_jump(code, hooks[i].with);
		VirtualProtect(code, LENGTH, before, &before);
	}
	return install_create_file();
}

// ProcessPrng is what programs want of the DLL that this one replaces.
// https://learn.microsoft.com/windows/win32/seccng/processprng
BOOL WINAPI ProcessPrng(BYTE *data, SIZE_T size)
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

BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, void *reserved)
{
	(void)self, (void)reserved;
	if (reason != DLL_PROCESS_ATTACH)
		return TRUE;
	DWORD length = GetEnvironmentVariableW(L"CSI_PROXY_NODE_FILES", node_files, ARRAYSIZE(node_files));
	if (length == 0 || length >= ARRAYSIZE(node_files))
		return TRUE;
	if ((opens_link = TlsAlloc()) == TLS_OUT_OF_INDEXES || !install()) {
		fputs("links: the ntdll.dll or kernelbase.dll of this Wine has another form; see test/windows/fakes/links\n", stderr);
		ExitProcess(3);
	}
	return TRUE;
}
