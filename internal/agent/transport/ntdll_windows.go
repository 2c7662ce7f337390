// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/windows"
)

// The functions that golang.org/x/sys/windows lacks. Nothing changes these variables.
var (
	kernel32 = windows.NewLazySystemDLL("kernel32.dll")
	ntdll    = windows.NewLazySystemDLL("ntdll.dll")

	procIsProcessInJob         = kernel32.NewProc("IsProcessInJob")
	procPeekNamedPipe          = kernel32.NewProc("PeekNamedPipe")
	procNtOpenDirectoryObject  = ntdll.NewProc("NtOpenDirectoryObject")
	procNtQueryDirectoryObject = ntdll.NewProc("NtQueryDirectoryObject")
	procNtOpenJobObject        = ntdll.NewProc("NtOpenJobObject")
)

// isProcessInJob reports whether a process is in a job, or with 0 in any.
//
//	BOOL IsProcessInJob([in] HANDLE ProcessHandle, [in, optional] HANDLE JobHandle, [out] PBOOL Result);
//
// https://learn.microsoft.com/windows/win32/api/jobapi/nf-jobapi-isprocessinjob
func isProcessInJob(process, job windows.Handle) (in bool, err error) {
	var result int32
	if ok, _, err := procIsProcessInJob.Call(uintptr(process), uintptr(job), uintptr(unsafe.Pointer(&result))); ok == 0 {
		return false, err
	}
	return result != 0, nil
}

// peekNamedPipe looks into a pipe without reading from it.
//
//	BOOL PeekNamedPipe([in] HANDLE hNamedPipe, [out, optional] LPVOID lpBuffer, [in] DWORD nBufferSize,
//	  [out, optional] LPDWORD lpBytesRead, [out, optional] LPDWORD lpTotalBytesAvail, [out, optional] LPDWORD lpBytesLeftThisMessage);
//
// https://learn.microsoft.com/windows/win32/api/namedpipeapi/nf-namedpipeapi-peeknamedpipe
func peekNamedPipe(pipe windows.Handle) error {
	if ok, _, err := procPeekNamedPipe.Call(uintptr(pipe), 0, 0, 0, 0, 0); ok == 0 {
		return err
	}
	return nil
}

// openDirectory opens a directory of the object namespace, to list it.
//
//	NTSTATUS NtOpenDirectoryObject(_Out_ PHANDLE DirectoryHandle, _In_ ACCESS_MASK DesiredAccess, _In_ POBJECT_ATTRIBUTES ObjectAttributes);
//
// https://learn.microsoft.com/windows/win32/devnotes/ntopendirectoryobject
func openDirectory(path string) (windows.Handle, error) {
	const directoryQuery = 1
	return openObject(procNtOpenDirectoryObject, directoryQuery, path)
}

// openJob opens a job object, to ask about it. Like NtOpenDirectoryObject, the function takes a handle, rights and a
// name.
//
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/nf-ntifs-ntopenjobobject
func openJob(path string) (windows.Handle, error) {
	const jobObjectQuery = 4
	return openObject(procNtOpenJobObject, jobObjectQuery, path)
}

func openObject(open *windows.LazyProc, access uintptr, path string) (windows.Handle, error) {
	name, err := windows.NewNTUnicodeString(path)
	if err != nil {
		return 0, err
	}
	attributes := &windows.OBJECT_ATTRIBUTES{Length: uint32(unsafe.Sizeof(windows.OBJECT_ATTRIBUTES{})), ObjectName: name}
	var h windows.Handle
	status, _, _ := open.Call(uintptr(unsafe.Pointer(&h)), access, uintptr(unsafe.Pointer(attributes)))
	runtime.KeepAlive(name)
	return h, failure(status)
}

// queryDirectory lists objects, from position on, as many as the buffer holds; see STATUS_MORE_ENTRIES.
//
//	NTSTATUS NtQueryDirectoryObject(_In_ HANDLE DirectoryHandle, _Out_opt_ PVOID Buffer, _In_ ULONG Length,
//	  _In_ BOOLEAN ReturnSingleEntry, _In_ BOOLEAN RestartScan, _Inout_ PULONG Context, _Out_opt_ PULONG ReturnLength);
//
// https://learn.microsoft.com/windows/win32/devnotes/ntquerydirectoryobject
func queryDirectory(directory windows.Handle, buffer unsafe.Pointer, length uint32, restart bool,
	position *uint32) error {
	again := uintptr(0)
	if restart {
		again = 1
	}
	status, _, _ := procNtQueryDirectoryObject.Call(uintptr(directory), uintptr(buffer), uintptr(length), 0, again,
		uintptr(unsafe.Pointer(position)), 0)
	return failure(status)
}

// failure returns the error of a status other than success.
func failure(status uintptr) error {
	if status == 0 {
		return nil
	}
	return windows.NTStatus(status)
}
