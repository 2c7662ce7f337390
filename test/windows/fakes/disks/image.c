// SPDX-License-Identifier: Apache-2.0
//
// The bytes of the disks: a sparse file for each, disk-N.img, in C:\disks-fake or where the line "images" says.
#include "fake.h"

static HANDLE open_image(CALL *call, const DISK *disk, DWORD disposition)
{
	char path[MAX_PATH + 32];
	const LINE *line = control_find(&call->control, NULL, "images");
	snprintf(path, sizeof path, "%s\\disk-%lu.img", line ? line->word[1] : "C:\\disks-fake", disk->number);
	return CreateFileA(path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, disposition, 0, NULL);
}

static NTSTATUS status_of(BOOL done) { return done ? STATUS_SUCCESS : STATUS_IO_DEVICE_ERROR; }

// image_make makes the image and the file that stands for open handles, and lets the image grow.
void image_make(CALL *call, const DISK *disk)
{
	LARGE_INTEGER size, wanted;
	WCHAR path[MAX_PATH];
	HANDLE image = open_image(call, disk, OPEN_ALWAYS);
	wanted.QuadPart = (LONGLONG)disk->size;
	if (image == INVALID_HANDLE_VALUE || !GetFileSizeEx(image, &size) ||
	    (size.QuadPart < wanted.QuadPart && !(SetFilePointerEx(image, wanted, NULL, FILE_BEGIN) && SetEndOfFile(image)))) {
		fprintf(stderr, "disks: the image of disk %lu cannot be made\n", disk->number);
		ExitProcess(3);
	}
	CloseHandle(image);
	CreateDirectoryW(FOLDER L"open", NULL);
	_snwprintf(path, MAX_PATH, FOLDER L"open\\disk-%lu", disk->number);
	HANDLE marker = CreateFileW(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_ALWAYS, 0, NULL);
	if (marker != INVALID_HANDLE_VALUE)
		CloseHandle(marker);
}

NTSTATUS image_read(CALL *call, const DISK *disk, ULONGLONG offset, void *data, ULONG size)
{
	DWORD got = 0;
	OVERLAPPED at = {.Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32)};
	HANDLE image = open_image(call, disk, OPEN_EXISTING);
	BOOL done = image != INVALID_HANDLE_VALUE && ReadFile(image, data, size, &got, &at) && got == size;
	CloseHandle(image);
	return status_of(done);
}

NTSTATUS image_write(CALL *call, const DISK *disk, ULONGLONG offset, const void *data, ULONG size)
{
	DWORD put = 0;
	OVERLAPPED at = {.Offset = (DWORD)offset, .OffsetHigh = (DWORD)(offset >> 32)};
	HANDLE image = open_image(call, disk, OPEN_EXISTING);
	BOOL done = image != INVALID_HANDLE_VALUE && WriteFile(image, data, size, &put, &at) && put == size;
	CloseHandle(image);
	call->state->stale = TRUE;
	return status_of(done);
}

NTSTATUS image_flush(CALL *call, const DISK *disk)
{
	HANDLE image = open_image(call, disk, OPEN_EXISTING);
	BOOL done = image != INVALID_HANDLE_VALUE && FlushFileBuffers(image);
	CloseHandle(image);
	return status_of(done);
}

void image_erase(CALL *call, const DISK *disk, ULONGLONG offset, ULONGLONG size)
{
	BYTE *zeroes = calloc(1, (size_t)size);
	image_write(call, disk, offset, zeroes, (ULONG)size);
	free(zeroes);
}
