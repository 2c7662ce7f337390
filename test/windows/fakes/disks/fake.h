// SPDX-License-Identifier: Apache-2.0
//
// Fake disks for programs under Wine: what the files share. ../README.md describes the files and the control lines. Every call that concerns a
// device runs between enter and leave, which hold the lock of all processes; refuse records what Microsoft's page forbids.
#ifndef FAKE_DISKS_FAKE_H
#define FAKE_DISKS_FAKE_H

#define WIN32_LEAN_AND_MEAN
#define WIN32_NO_STATUS
#include <windows.h>
#undef WIN32_NO_STATUS
#include <ntstatus.h>
#include <winternl.h>

#include <winioctl.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../harness/control.h"

#define FOLDER L"C:\\disks-fake\\"
#define NT_FOLDER L"\\??\\C:\\disks-fake\\"
#define LINKS FOLDER L"links.dll" // test/windows/fakes/links

enum { MAX_DISKS = 64, MAX_VOLUMES = 128, MAX_PARTITIONS = 128, MAX_IDS = 12, MAX_OPENERS = 16, NAME_MOST = 1024 };

// A DISK is what a "disk" line says.
typedef struct {
	ULONG number;
	ULONGLONG size;
	ULONG sector, physical;
	ULONG port, path, target, lun;
	STORAGE_BUS_TYPE bus;
	const char *vendor, *product, *revision, *serial;
	const char *id[MAX_IDS];
	int ids;
	BOOL offline, readonly, is_system, removable, no_id, no_duid, late, gone, there; // there: arrived, and not gone
} DISK;

// DISK_STATE is what Windows knows of a disk. SHOWN is the size that it has seen.
typedef struct {
	BOOL known, arrived;
	ULONG arrives; // after so many lists
	ULONGLONG attributes, persistent, shown;
} DISK_STATE;

typedef struct {
	BOOL used, there, offline, dismounted, is_own; // is_own: Wine's drive C, whose files are Wine's
	ULONG disk, partition, number; // number: \Device\HarddiskVolumeN
	ULONGLONG offset, length, attributes, extended; // extended: the file system's size, once it is known
	GUID id;   // of the partition; for MBR made from signature and offset
	GUID guid; // of the volume
	ULONG appears; // after so many lists
	DWORD locked_by; // process
	struct { DWORD process; ULONG handles; } opener[MAX_OPENERS];
} VOLUME;

// STATE is the whole file state.bin, mapped by every process.
typedef struct {
	ULONG next_volume;
	ULONG control; // a checksum of control.txt when the volumes were last looked for
	BOOL stale;    // something was written since then
	DISK_STATE disk[MAX_DISKS];
	VOLUME volume[MAX_VOLUMES];
} STATE;

// A PARTITION and a LAYOUT are what the image of a disk says.
typedef struct {
	ULONG index; // in the table
	ULONGLONG offset, length, attributes;
	GUID type, id;
	BYTE mbr_type;
	BOOLEAN boot;
	WCHAR name[36];
} PARTITION;

typedef struct {
	PARTITION_STYLE style;
	GUID id;
	ULONG signature;
	ULONGLONG first, usable; // bytes
	ULONG most, count;
	PARTITION partition[MAX_PARTITIONS];
} LAYOUT;

enum kind { NOT_OURS, DISK_DEVICE, VOLUME_DEVICE, VOLUME_FILE, MOUNT_MANAGER };

// A TARGET is what a path names.
typedef struct {
	enum kind kind;
	ULONG disk;
	ULONG volume; // index in STATE
	WCHAR rest[NAME_MOST]; // path on the volume
} TARGET;

// An OPEN is a handle of this process.
typedef struct {
	HANDLE handle;
	enum kind kind;
	ULONG disk, volume;
	ACCESS_MASK access;
	BOOL synchronous, locked;
	LONGLONG position;
	HANDLE port;
	ULONG_PTR key;
	ULONG notification;
} OPEN;

typedef struct {
	const char *name;
	char object[32];
	HANDLE mutex;
	STATE *state;
	HANDLE mapping;
	CONTROL control;
	DISK *disks;
	int disk_count;
	LAYOUT *layout; // scratch
	DWORD error;    // GetLastError, which system calls leave alone
} CALL;

// call.c
BOOL is_here(void);
void enter(CALL *call, const char *name, const char *object);
NTSTATUS leave(CALL *call, NTSTATUS status, const char *format, ...);
NTSTATUS refuse(CALL *call, NTSTATUS status, const char *format, ...);
DISK *disk_of(CALL *call, ULONG number);
DISK_STATE *disk_state(CALL *call, const DISK *disk);

// control.c
BOOL answers(CALL *call, const char *keyword, ULONG *answer);
void control_disks(CALL *call);
const char *option(const LINE *line, int from, const char *name);
ULONGLONG size_of(const char *word);

// image.c
NTSTATUS image_read(CALL *call, const DISK *disk, ULONGLONG offset, void *data, ULONG size);
NTSTATUS image_write(CALL *call, const DISK *disk, ULONGLONG offset, const void *data, ULONG size);
NTSTATUS image_flush(CALL *call, const DISK *disk);
void image_make(CALL *call, const DISK *disk);
void image_erase(CALL *call, const DISK *disk, ULONGLONG offset, ULONGLONG size);

// table.c: partition tables on the image
void table_read(CALL *call, const DISK *disk, LAYOUT *layout);
NTSTATUS table_write(CALL *call, const DISK *disk, const LAYOUT *layout);
NTSTATUS table_erase(CALL *call, const DISK *disk);
void table_empty(const DISK *disk, LAYOUT *layout, PARTITION_STYLE style, ULONG most);
BOOL new_guid(GUID *guid);
ULONG crc32(const void *data, size_t size);
extern const GUID type_basic, type_reserved, type_system, type_none;

// volumes.c
void volumes_sync(CALL *call);
void volumes_sync_if_stale(CALL *call);
VOLUME *volume_by_guid(CALL *call, const GUID *guid);
BOOL volume_there(const CALL *call, const VOLUME *volume);
const char *file_system(const CALL *call, const VOLUME *volume);
ULONG other_handles(const VOLUME *volume);
void opener_add(VOLUME *volume, int change);
BOOL parse_guid(const WCHAR *text, GUID *guid);
void guid_text(const GUID *guid, WCHAR text[39]);
ULONG extents_of(CALL *call, const VOLUME *volume, DISK_EXTENT *extent, ULONG most);

// names.c
BOOL looks_ours(const UNICODE_STRING *name);
NTSTATUS find_target(CALL *call, const UNICODE_STRING *name, TARGET *target);
void disk_instance(const DISK *disk, WCHAR text[NAME_MOST]);
void disk_interface(const DISK *disk, WCHAR text[NAME_MOST]);
void volume_instance(CALL *call, const VOLUME *volume, WCHAR text[NAME_MOST]);
void volume_interface(CALL *call, const VOLUME *volume, WCHAR text[NAME_MOST]);

// handles.c
void handle_add(const OPEN *open);
BOOL handle_get(HANDLE handle, OPEN *open);
void handle_change(const OPEN *open);
BOOL handle_remove(HANDLE handle, OPEN *open);
NTSTATUS complete(const OPEN *open, IO_STATUS_BLOCK *io, HANDLE event, void *apc, void *context, NTSTATUS status, ULONG_PTR information);

// Codes that mingw-w64's winioctl.h lacks.
enum {
	IOCTL_DISK_GET_DISK_ATTRIBUTES = CTL_CODE(7, 0x3c, METHOD_BUFFERED, FILE_ANY_ACCESS),
	IOCTL_DISK_SET_DISK_ATTRIBUTES = CTL_CODE(7, 0x3d, METHOD_BUFFERED, FILE_READ_ACCESS | FILE_WRITE_ACCESS),
	IOCTL_DISK_ARE_VOLUMES_READY = CTL_CODE(7, 0x87, METHOD_BUFFERED, FILE_READ_ACCESS),
	IOCTL_SCSI_GET_ADDRESS = CTL_CODE(4, 0x406, METHOD_BUFFERED, FILE_ANY_ACCESS),
	IOCTL_MOUNTDEV_QUERY_UNIQUE_ID = CTL_CODE('M', 0, METHOD_BUFFERED, FILE_ANY_ACCESS),
	IOCTL_MOUNTDEV_QUERY_DEVICE_NAME = CTL_CODE('M', 2, METHOD_BUFFERED, FILE_ANY_ACCESS),
	IOCTL_MOUNTDEV_QUERY_STABLE_GUID = CTL_CODE('M', 6, METHOD_BUFFERED, FILE_ANY_ACCESS),
	IOCTL_MOUNTMGR_QUERY_POINTS = CTL_CODE('m', 2, METHOD_BUFFERED, FILE_ANY_ACCESS),
};

// A REQUEST is a control code on its way.
typedef struct {
	CALL *call;
	OPEN *open;
	DISK *disk;
	VOLUME *volume; // or NULL
	ULONG code;
	BYTE *in;
	ULONG in_size;
	BYTE *out;
	ULONG out_size, information;
} REQUEST;

// control codes: each returns STATUS_NOT_IMPLEMENTED for a code that is not its own.
NTSTATUS disk_code(REQUEST *r);
NTSTATUS layout_code(REQUEST *r);
NTSTATUS storage_code(REQUEST *r);
NTSTATUS volume_code(REQUEST *r);
NTSTATUS file_system_code(REQUEST *r);
NTSTATUS query_property(REQUEST *r);
NTSTATUS mount_manager_code(CALL *call, HANDLE handle, ULONG code, void *in, ULONG in_size, void *out, ULONG out_size, ULONG *information);
NTSTATUS put(REQUEST *r, const void *data, ULONG size);
const char *code_name(ULONG code, char other[16]);

// mounts.c, final.c: the functions of kernel32.dll that know mounted folders, which a program has with links. The last has no name.
typedef struct {
	const char *name;
	void *with;
} MOUNT_FUNCTION;
extern const MOUNT_FUNCTION mount_functions[];
DWORD WINAPI final_path_name(HANDLE h, WCHAR *path, DWORD size, DWORD flags);

// records.c: the mount manager's records of mounted folders
enum { RECORDS_MOST = 1 << 16 }; // characters
WCHAR *mount_records(void);
void mount_record(const WCHAR *volume, const WCHAR *path, BOOL is_mounted);

// hooks.c: busy reports whether this thread is in a call of the fake, whose own calls are the system's.
BOOL busy(void);
void set_busy(BOOL is);

// codes.c, files.c, transfer.c, handles.c: the system calls
typedef NTSTATUS(WINAPI *create_function)(HANDLE *, ACCESS_MASK, OBJECT_ATTRIBUTES *, IO_STATUS_BLOCK *, LARGE_INTEGER *, ULONG, ULONG, ULONG, ULONG, void *, ULONG);
typedef NTSTATUS(WINAPI *open_function)(HANDLE *, ACCESS_MASK, OBJECT_ATTRIBUTES *, IO_STATUS_BLOCK *, ULONG, ULONG);
typedef NTSTATUS(WINAPI *control_function)(HANDLE, HANDLE, void *, void *, IO_STATUS_BLOCK *, ULONG, void *, ULONG, void *, ULONG);
typedef NTSTATUS(WINAPI *transfer_function)(HANDLE, HANDLE, void *, void *, IO_STATUS_BLOCK *, void *, ULONG, LARGE_INTEGER *, ULONG *);
typedef NTSTATUS(WINAPI *flush_function)(HANDLE, IO_STATUS_BLOCK *);
typedef NTSTATUS(WINAPI *information_function)(HANDLE, IO_STATUS_BLOCK *, void *, ULONG, ULONG);
typedef NTSTATUS(WINAPI *close_function)(HANDLE);
typedef NTSTATUS(WINAPI *duplicate_function)(HANDLE, HANDLE, HANDLE, HANDLE *, ACCESS_MASK, ULONG, ULONG);
typedef NTSTATUS(WINAPI *attributes_function)(const OBJECT_ATTRIBUTES *, void *);

extern create_function old_create;
extern open_function old_open;
extern control_function old_device_control, old_fs_control;
extern transfer_function old_read, old_write;
extern flush_function old_flush;
extern information_function old_volume_information, old_information, old_set_information;
extern close_function old_close;
extern duplicate_function old_duplicate;
extern attributes_function old_attributes, old_full_attributes;

NTSTATUS WINAPI disks_create(HANDLE *, ACCESS_MASK, OBJECT_ATTRIBUTES *, IO_STATUS_BLOCK *, LARGE_INTEGER *, ULONG, ULONG, ULONG, ULONG, void *, ULONG);
NTSTATUS WINAPI disks_open(HANDLE *, ACCESS_MASK, OBJECT_ATTRIBUTES *, IO_STATUS_BLOCK *, ULONG, ULONG);
NTSTATUS WINAPI disks_device_control(HANDLE, HANDLE, void *, void *, IO_STATUS_BLOCK *, ULONG, void *, ULONG, void *, ULONG);
NTSTATUS WINAPI disks_fs_control(HANDLE, HANDLE, void *, void *, IO_STATUS_BLOCK *, ULONG, void *, ULONG, void *, ULONG);
NTSTATUS WINAPI disks_read(HANDLE, HANDLE, void *, void *, IO_STATUS_BLOCK *, void *, ULONG, LARGE_INTEGER *, ULONG *);
NTSTATUS WINAPI disks_write(HANDLE, HANDLE, void *, void *, IO_STATUS_BLOCK *, void *, ULONG, LARGE_INTEGER *, ULONG *);
NTSTATUS WINAPI disks_flush(HANDLE, IO_STATUS_BLOCK *);
NTSTATUS WINAPI disks_volume_information(HANDLE, IO_STATUS_BLOCK *, void *, ULONG, ULONG);
NTSTATUS WINAPI disks_information(HANDLE, IO_STATUS_BLOCK *, void *, ULONG, ULONG);
NTSTATUS WINAPI disks_set_information(HANDLE, IO_STATUS_BLOCK *, void *, ULONG, ULONG);
NTSTATUS WINAPI disks_close(HANDLE);
NTSTATUS WINAPI disks_duplicate(HANDLE, HANDLE, HANDLE, HANDLE *, ACCESS_MASK, ULONG, ULONG);
NTSTATUS WINAPI disks_attributes(const OBJECT_ATTRIBUTES *, void *);
NTSTATUS WINAPI disks_full_attributes(const OBJECT_ATTRIBUTES *, void *);

#endif
