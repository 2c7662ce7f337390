// SPDX-License-Identifier: Apache-2.0

#ifndef LINKS_H
#define LINKS_H

#include <windows.h>
#include <winternl.h>

#define LINK_FILE L".csi-proxy-reparse" // holds the REPARSE_DATA_BUFFER of the directory that it is in

#ifndef STATUS_SUCCESS
#define STATUS_SUCCESS ((NTSTATUS)0)
#endif
#define LINKS_NO_MEMORY ((NTSTATUS)0xC0000017)
#define LINKS_BUFFER_OVERFLOW ((NTSTATUS)0x80000005)
#define LINKS_BUFFER_TOO_SMALL ((NTSTATUS)0xC0000023)
#define LINKS_NOT_RESOLVED ((NTSTATUS)0xC0000280) // STATUS_REPARSE_POINT_NOT_RESOLVED
#define LINKS_ENCOUNTERED ((NTSTATUS)0xC000050B)  // STATUS_REPARSE_POINT_ENCOUNTERED
#define LINKS_ACCESS_DENIED ((NTSTATUS)0xC0000022)
#define LINKS_NOT_A_DIRECTORY ((NTSTATUS)0xC0000103)

// OBJ_DONT_REPARSE, which mingw-w64 lacks: https://learn.microsoft.com/windows/win32/api/ntdef/nf-ntdef-initializeobjectattributes
enum { LINKS_DONT_REPARSE = 0x1000 };

enum { LINK_MOST = 16 * 1024, LINKS_ON_THE_WAY = 63, PATH_MOST = 4096 };

// node_files is the NT path of the emulated node's state directory, and empty if the links are the machine's own.
extern WCHAR node_files[MAX_PATH];

// A link is what the file of a link holds.
struct link {
	ULONG size;
	BYTE data[LINK_MOST];
};

// read_link reads the link that a directory of root is, or with an empty name root itself. It returns the tag, or 0.
ULONG read_link(HANDLE root, const WCHAR *name, size_t length, struct link *l);

// is_link is the tag of a link, or 0.
ULONG is_link(HANDLE root, const WCHAR *name, size_t length);

// unlink_here turns the link that is open into an empty directory.
NTSTATUS unlink_here(HANDLE dir);

// What the control codes FSCTL_SET_REPARSE_POINT and FSCTL_DELETE_REPARSE_POINT do to an open directory.
NTSTATUS set_reparse_point(HANDLE h, const void *in, ULONG size);
NTSTATUS delete_reparse_point(HANDLE h, const void *in, ULONG size);

// serve_unix_sockets gives the program Unix sockets, see sockets.c.
void serve_unix_sockets(void);

// A way is where a path leads.
struct way {
	OBJECT_ATTRIBUTES attributes; // for the call
	UNICODE_STRING name;
	WCHAR text[PATH_MOST];
};

// resolve follows the links of a path, with follow even the last name. It returns NULL with an error.
struct way *resolve(const OBJECT_ATTRIBUTES *path, BOOL follow, NTSTATUS *status);
void forget(struct way *w);

typedef NTSTATUS(WINAPI *create_function)(HANDLE *, ACCESS_MASK, OBJECT_ATTRIBUTES *, IO_STATUS_BLOCK *, LARGE_INTEGER *, ULONG, ULONG, ULONG, ULONG, void *, ULONG);
typedef NTSTATUS(WINAPI *open_function)(HANDLE *, ACCESS_MASK, OBJECT_ATTRIBUTES *, IO_STATUS_BLOCK *, ULONG, ULONG);
typedef NTSTATUS(WINAPI *control_function)(HANDLE, HANDLE, void *, void *, IO_STATUS_BLOCK *, ULONG, void *, ULONG, void *, ULONG);
typedef NTSTATUS(WINAPI *attributes_function)(const OBJECT_ATTRIBUTES *, void *);
typedef NTSTATUS(WINAPI *information_function)(HANDLE, IO_STATUS_BLOCK *, void *, ULONG, ULONG);
typedef NTSTATUS(WINAPI *list_function)(HANDLE, HANDLE, void *, void *, IO_STATUS_BLOCK *, void *, ULONG, ULONG, BOOLEAN, UNICODE_STRING *, BOOLEAN);

typedef HANDLE(WINAPI *create_file_function)(const WCHAR *, DWORD, DWORD, SECURITY_ATTRIBUTES *, DWORD, DWORD, HANDLE);

typedef BOOL(WINAPI *space_function)(const WCHAR *, ULARGE_INTEGER *, ULARGE_INTEGER *, ULARGE_INTEGER *);

extern create_file_function old_create_file;
extern space_function old_space;
extern create_function old_create;
extern open_function old_open;
extern control_function old_control;
extern attributes_function old_attributes, old_full_attributes;
extern information_function old_information, old_set_information;
extern list_function old_list;

// opens_link is where a thread keeps that it is in a CreateFileW with FILE_FLAG_OPEN_REPARSE_POINT.
extern DWORD opens_link;

BOOL WINAPI links_space(const WCHAR *, ULARGE_INTEGER *, ULARGE_INTEGER *, ULARGE_INTEGER *);
HANDLE WINAPI links_create_file(const WCHAR *, DWORD, DWORD, SECURITY_ATTRIBUTES *, DWORD, DWORD, HANDLE);
NTSTATUS WINAPI links_create(HANDLE *, ACCESS_MASK, OBJECT_ATTRIBUTES *, IO_STATUS_BLOCK *, LARGE_INTEGER *, ULONG, ULONG, ULONG, ULONG, void *, ULONG);
NTSTATUS WINAPI links_open(HANDLE *, ACCESS_MASK, OBJECT_ATTRIBUTES *, IO_STATUS_BLOCK *, ULONG, ULONG);
NTSTATUS WINAPI links_control(HANDLE, HANDLE, void *, void *, IO_STATUS_BLOCK *, ULONG, void *, ULONG, void *, ULONG);
NTSTATUS WINAPI links_attributes(const OBJECT_ATTRIBUTES *, void *);
NTSTATUS WINAPI links_full_attributes(const OBJECT_ATTRIBUTES *, void *);
NTSTATUS WINAPI links_information(HANDLE, IO_STATUS_BLOCK *, void *, ULONG, ULONG);
NTSTATUS WINAPI links_set_information(HANDLE, IO_STATUS_BLOCK *, void *, ULONG, ULONG);
NTSTATUS WINAPI links_list(HANDLE, HANDLE, void *, void *, IO_STATUS_BLOCK *, void *, ULONG, ULONG, BOOLEAN, UNICODE_STRING *, BOOLEAN);

#endif
