// SPDX-License-Identifier: Apache-2.0

// Wine has no Unix sockets. Those of a Go program are sockets of the loopback device here, and the file has the port.
// The program finds its functions by GetProcAddress, in whose place it gets another one.
// https://learn.microsoft.com/windows/win32/winsock/winsock-functions

#include "links.h"

enum { UNIX_PATH = 108, SOCKETS = 16 * 1024, IN_USE = 10048, REFUSED = 10061, NO_SOCKET = 10047 };

struct unix_address {
	u_short family;
	char path[UNIX_PATH];
};

static FARPROC(WINAPI *old_find)(HMODULE, const char *);
static SOCKET(WINAPI *old_socket)(int, int, int, void *, unsigned, DWORD);
static int(WINAPI *old_bind)(SOCKET, const struct sockaddr *, int), (WINAPI *old_connect)(SOCKET, const struct sockaddr *, int);
static int(WINAPI *old_name)(SOCKET, struct sockaddr *, int *);
static struct unix_address *unix_sockets[SOCKETS]; // by handle; each stays until its handle is another socket's

static struct unix_address *unix_of(SOCKET s) { return s / 4 < SOCKETS ? unix_sockets[s / 4] : NULL; }

static int failed(DWORD code)
{
	SetLastError(code);
	return -1;
}

static SOCKET WINAPI links_socket(int family, int type, int protocol, void *info, unsigned group, DWORD flags)
{
	SOCKET s = old_socket(family == AF_UNIX ? AF_INET : family, type, protocol, info, group, flags);
	if (s != (SOCKET)-1 && s / 4 < SOCKETS)
		unix_sockets[s / 4] = family == AF_UNIX ? HeapAlloc(GetProcessHeap(), HEAP_ZERO_MEMORY, sizeof *unix_sockets[0]) : NULL;
	return s;
}

// port_file opens the file of a Unix socket.
static HANDLE port_file(const struct unix_address *a, DWORD access, DWORD disposition)
{
	WCHAR path[UNIX_PATH + 1] = {0};
	MultiByteToWideChar(CP_UTF8, 0, a->path, -1, path, UNIX_PATH);
	for (WCHAR *c = path; *c; c++)
		*c = *c == '/' ? '\\' : *c; // a path that begins with / is one of Linux for Wine
	return CreateFileW(path, access, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL, disposition, 0, NULL);
}

static int WINAPI links_bind(SOCKET s, const struct sockaddr *a, int size)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = 0x0100007f};
	DWORD done;
	int in_size = sizeof in;
	if (!unix_of(s) || a->sa_family != AF_UNIX)
		return old_bind(s, a, size);
	memcpy(unix_of(s), a, min((size_t)size, sizeof(struct unix_address) - 1));
	HANDLE h = port_file(unix_of(s), GENERIC_WRITE, CREATE_NEW);
	if (h == INVALID_HANDLE_VALUE)
		return failed(IN_USE);
	BOOL ok = !old_bind(s, (struct sockaddr *)&in, sizeof in) && !old_name(s, (struct sockaddr *)&in, &in_size) && WriteFile(h, &in, sizeof in, &done, NULL);
	CloseHandle(h);
	return ok ? 0 : failed(NO_SOCKET);
}

static int WINAPI links_connect(SOCKET s, const struct sockaddr *a, int size)
{
	struct sockaddr_in in;
	struct unix_address to = {0};
	DWORD done = 0;
	if (!unix_of(s) || a->sa_family != AF_UNIX)
		return old_connect(s, a, size);
	memcpy(&to, a, min((size_t)size, sizeof to - 1));
	HANDLE h = port_file(&to, GENERIC_READ, OPEN_EXISTING);
	BOOL ok = h != INVALID_HANDLE_VALUE && ReadFile(h, &in, sizeof in, &done, NULL) && done == sizeof in;
	CloseHandle(h);
	return ok ? old_connect(s, (struct sockaddr *)&in, sizeof in) : failed(REFUSED);
}

static int WINAPI links_name(SOCKET s, struct sockaddr *a, int *size)
{
	if (!unix_of(s) || *size < (int)sizeof(struct unix_address))
		return old_name(s, a, size);
	memcpy(a, unix_of(s), *size = sizeof(struct unix_address));
	a->sa_family = AF_UNIX;
	return 0;
}

static FARPROC WINAPI links_find(HMODULE module, const char *name)
{
	static const struct {
		const char *name;
		void *ours, *old;
	} functions[] = {{"WSASocketW", links_socket, &old_socket}, {"bind", links_bind, &old_bind}, {"connect", links_connect, &old_connect}, {"getsockname", links_name, &old_name}};
	FARPROC found = old_find(module, name);
	for (size_t i = 0; found && (UINT_PTR)name >> 16 && i < ARRAYSIZE(functions); i++)
		if (module == GetModuleHandleW(L"ws2_32.dll") && !strcmp(name, functions[i].name)) {
			old_name = (void *)old_find(module, "getsockname");
			*(void **)functions[i].old = (void *)found;
			return (FARPROC)functions[i].ours;
		}
	return found;
}

void serve_unix_sockets(void)
{
	BYTE *program = (BYTE *)GetModuleHandleW(NULL);
	const IMAGE_NT_HEADERS *headers = (void *)(program + ((IMAGE_DOS_HEADER *)program)->e_lfanew);
	const IMAGE_IMPORT_DESCRIPTOR *from = (void *)(program + headers->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT].VirtualAddress);
	DWORD was;
	old_find = (void *)GetProcAddress(GetModuleHandleW(L"kernel32.dll"), "GetProcAddress");
	for (; (void *)from != program && from->Name; from++)
		for (void **f = (void *)(program + from->FirstThunk); *f; f++)
			if (*f == (void *)old_find && VirtualProtect(f, sizeof *f, PAGE_READWRITE, &was))
				*f = (void *)links_find;
}
