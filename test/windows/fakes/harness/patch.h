// SPDX-License-Identifier: Apache-2.0
//
// How a fake takes the place of functions of Wine's DLLs in a program, and the one function of the DLL in whose place it is itself: every Go
// program loads bcryptprimitives.dll before its main. To be included by one file of a fake.
#ifndef FAKES_PATCH_H
#define FAKES_PATCH_H

#include <windows.h>

// A PATCH puts a function in the place of a system call; OLD becomes what was there.
typedef struct {
	const char *name;
	void *with;
	void **old;
} PATCH;

enum { SYSTEM_CALL = 32 }; // bytes

static const BYTE patch_jump[] = {0xff, 0x25, 0, 0, 0, 0}; // jmp to the address that follows

static void put_jump(BYTE *at, const void *to)
{
	memcpy(at, patch_jump, sizeof patch_jump);
	memcpy(at + sizeof patch_jump, &to, sizeof to);
}

// is_system_call reports whether code is mov r10, rcx; mov eax, NUMBER; test byte [0x7ffe0308], 1; …; call [0x7ffe1000]; ret.
static BOOL is_system_call(const BYTE *code)
{
	static const BYTE start[] = {0x4c, 0x8b, 0xd1, 0xb8};
	static const BYTE rest[] = {0xf6, 0x04, 0x25, 0x08, 0x03, 0xfe, 0x7f, 0x01, 0x75, 0x03, 0x0f, 0x05, 0xc3, 0xeb, 0x01, 0xc3, 0xff, 0x14, 0x25, 0x00, 0x10, 0xfe, 0x7f, 0xc3};
	return !memcmp(code, start, sizeof start) && !memcmp(code + 8, rest, sizeof rest);
}

// patch_system_calls patches system calls of ntdll.dll. All are of one form, like Windows': 32 bytes that do not depend on where they are. A copy of
// them is the old function, or what the jump of another fake leads to, if one is there. It returns FALSE if there is a call of another form.
static BOOL patch_system_calls(const PATCH *patches, size_t count)
{
	HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
	BYTE *copies = VirtualAlloc(NULL, SYSTEM_CALL * count, MEM_COMMIT | MEM_RESERVE, PAGE_EXECUTE_READWRITE);
	if (!ntdll || !copies)
		return FALSE;
	for (size_t i = 0; i < count; i++) {
		BYTE *code = (BYTE *)(void *)GetProcAddress(ntdll, patches[i].name), *copy = copies + SYSTEM_CALL * i;
		if (code && !memcmp(code, patch_jump, sizeof patch_jump)) {
			memcpy(patches[i].old, code + sizeof patch_jump, sizeof(void *));
			continue;
		}
		if (!code || !is_system_call(code))
			return FALSE;
		memcpy(copy, code, SYSTEM_CALL);
		*patches[i].old = copy;
	}
	for (size_t i = 0; i < count; i++) {
		BYTE *code = (BYTE *)(void *)GetProcAddress(ntdll, patches[i].name);
		DWORD before;
		if (!VirtualProtect(code, SYSTEM_CALL, PAGE_EXECUTE_READWRITE, &before))
			return FALSE;
		put_jump(code, patches[i].with);
		VirtualProtect(code, SYSTEM_CALL, before, &before);
	}
	return TRUE;
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

// patch_function puts a near jump of five bytes in the place of a function's first ones.
static BOOL patch_function(BYTE *code, const void *with)
{
	DWORD before;
	BYTE *page;
	if (!code || !(page = page_before(code)) || !VirtualProtect(code, 5, PAGE_EXECUTE_READWRITE, &before))
		return FALSE;
	put_jump(page, with);
	const LONG distance = (LONG)(page - (code + 5));
	memcpy(code + 1, &distance, sizeof distance);
	code[0] = 0xe9; // jmp
	return VirtualProtect(code, 5, before, &before);
}

BOOLEAN WINAPI SystemFunction036(void *data, ULONG size); // RtlGenRandom: https://learn.microsoft.com/windows/win32/api/ntsecapi/nf-ntsecapi-rtlgenrandom

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

#endif
