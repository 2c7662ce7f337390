// SPDX-License-Identifier: Apache-2.0

// The functions that take part. A Wine whose functions have another form ends the program.

#include <stdio.h>

#include "../harness/patch.h"
#include "links.h"

static const PATCH calls[] = {
	{"NtCreateFile", links_create, (void **)&old_create},
	{"NtOpenFile", links_open, (void **)&old_open},
	{"NtFsControlFile", links_control, (void **)&old_control},
	{"NtQueryAttributesFile", links_attributes, (void **)&old_attributes},
	{"NtQueryFullAttributesFile", links_full_attributes, (void **)&old_full_attributes},
	{"NtQueryInformationFile", links_information, (void **)&old_information},
	{"NtSetInformationFile", links_set_information, (void **)&old_set_information},
	{"NtQueryDirectoryFile", links_list, (void **)&old_list},
};

// patch_win32 patches a function of kernelbase.dll that begins with eight bytes that do nothing. What follows them is the old function.
static BOOL patch_win32(const char *name, const void *with, void **old)
{
	static const BYTE nothing[] = {0x48, 0x8d, 0xa4, 0x24, 0, 0, 0, 0}; // lea rsp, [rsp]
	BYTE *code = (BYTE *)(void *)GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), name);
	if (!code || memcmp(code, nothing, sizeof nothing))
		return FALSE;
	*old = code + sizeof nothing;
	return patch_function(code, with);
}

static BOOL install(void)
{
	return patch_system_calls(calls, ARRAYSIZE(calls)) && patch_win32("CreateFileW", (void *)links_create_file, (void **)&old_create_file) &&
	       (!*node_files || patch_win32("GetDiskFreeSpaceExW", (void *)links_space, (void **)&old_space));
}

// has_links reports whether the program is to see links: under the name links.dll the machine's own, else those of a node that the program names.
static BOOL has_links(HINSTANCE self)
{
	WCHAR path[MAX_PATH];
	const WCHAR *name = GetModuleFileNameW(self, path, ARRAYSIZE(path)) ? wcsrchr(path, '\\') : NULL;
	if (name && !_wcsicmp(name + 1, L"links.dll"))
		return TRUE;
	DWORD length = GetEnvironmentVariableW(L"CSI_PROXY_NODE_FILES", node_files, ARRAYSIZE(node_files));
	return length > 0 && length < ARRAYSIZE(node_files);
}

BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, void *reserved)
{
	(void)reserved;
	if (reason != DLL_PROCESS_ATTACH || !has_links(self))
		return TRUE;
	if ((opens_link = TlsAlloc()) == TLS_OUT_OF_INDEXES || !install()) {
		fputs("links: the ntdll.dll or kernelbase.dll of this Wine has another form; see test/windows/fakes/links\n", stderr);
		ExitProcess(3);
	}
	serve_unix_sockets();
	return TRUE;
}
