// SPDX-License-Identifier: Apache-2.0
//
// The handles of this process that name devices. Each is a real handle of a file in C:\disks-fake\open, with the caller's access and share
// mode, so the system judges both, among all processes.
#include "fake.h"

NTSTATUS NTAPI NtSetIoCompletion(HANDLE, ULONG_PTR, ULONG_PTR, NTSTATUS, SIZE_T);
NTSTATUS NTAPI NtQueueApcThread(HANDLE, void *, ULONG_PTR, ULONG_PTR, ULONG_PTR);

enum { MAX_OPEN = 512 };

static OPEN opens[MAX_OPEN];
static LONG volatile used;
static SRWLOCK lock = SRWLOCK_INIT;

static OPEN *open_of(HANDLE handle)
{
	for (OPEN *open = opens; open < opens + MAX_OPEN; open++)
		if (open->kind != NOT_OURS && open->handle == handle)
			return open;
	return NULL;
}

void handle_add(const OPEN *open)
{
	AcquireSRWLockExclusive(&lock);
	for (OPEN *place = opens; place < opens + MAX_OPEN; place++)
		if (place->kind == NOT_OURS) {
			*place = *open;
			used++;
			break;
		}
	ReleaseSRWLockExclusive(&lock);
}

BOOL handle_get(HANDLE handle, OPEN *open)
{
	if (!used)
		return FALSE;
	AcquireSRWLockShared(&lock);
	const OPEN *found = open_of(handle);
	if (found)
		*open = *found;
	ReleaseSRWLockShared(&lock);
	return found != NULL;
}

void handle_change(const OPEN *open)
{
	AcquireSRWLockExclusive(&lock);
	OPEN *found = open_of(open->handle);
	if (found)
		*found = *open;
	ReleaseSRWLockExclusive(&lock);
}

BOOL handle_remove(HANDLE handle, OPEN *open)
{
	if (!used)
		return FALSE;
	AcquireSRWLockExclusive(&lock);
	OPEN *found = open_of(handle);
	if (found) {
		*open = *found;
		ZeroMemory(found, sizeof *found);
		used--;
	}
	ReleaseSRWLockExclusive(&lock);
	return found != NULL;
}

enum { FILE_SKIP_PORT = 1 }; // FILE_SKIP_COMPLETION_PORT_ON_SUCCESS

// complete tells the caller of an operation that it is complete, in all ways that it asked for.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/nf-ntifs-ntdeviceiocontrolfile
NTSTATUS complete(const OPEN *open, IO_STATUS_BLOCK *io, HANDLE event, void *apc, void *context, NTSTATUS status, ULONG_PTR information)
{
	if (NT_ERROR(status))
		return status; // an operation that is refused at once completes nothing
	io->Status = status;
	io->Information = information;
	if (event)
		SetEvent((HANDLE)((ULONG_PTR)event & ~(ULONG_PTR)1));
	if (apc)
		NtQueueApcThread(GetCurrentThread(), apc, (ULONG_PTR)context, (ULONG_PTR)io, 0);
	else if (open->port && context && !(open->notification & FILE_SKIP_PORT && status == STATUS_SUCCESS))
		NtSetIoCompletion(open->port, open->key, (ULONG_PTR)context, status, information);
	return status;
}

duplicate_function old_duplicate;

// A copy of a handle in the same process names the same device.
NTSTATUS WINAPI disks_duplicate(HANDLE from, HANDLE handle, HANDLE to, HANDLE *out, ACCESS_MASK access, ULONG attributes, ULONG options)
{
	OPEN open;
	BOOL ours = from == GetCurrentProcess() && to == GetCurrentProcess() && handle_get(handle, &open);
	NTSTATUS status = old_duplicate(from, handle, to, out, access, attributes, options);
	if (!ours || status < 0 || !out)
		return status;
	open.handle = *out;
	open.locked = FALSE;
	if (!(options & DUPLICATE_SAME_ACCESS))
		open.access = access;
	handle_add(&open);
	return status;
}
