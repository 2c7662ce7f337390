// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/windows"
)

// These are the functions that golang.org/x/sys/windows lacks. Their bodies are generated from the //sys lines.

// isProcessInJob asks whether a process is in a job, or with 0 in any.
// https://learn.microsoft.com/windows/win32/api/jobapi/nf-jobapi-isprocessinjob
//sys	isProcessInJob(process windows.Handle, job windows.Handle, result *int32) (err error) = kernel32.IsProcessInJob

// peekNamedPipe looks into a pipe without reading from it.
// https://learn.microsoft.com/windows/win32/api/namedpipeapi/nf-namedpipeapi-peeknamedpipe
//sys	peekNamedPipe(pipe windows.Handle, buffer *byte, size uint32, read *uint32, available *uint32, left *uint32) (err error) = kernel32.PeekNamedPipe

// ntOpenDirectoryObject opens a directory of the object namespace.
// https://learn.microsoft.com/windows/win32/devnotes/ntopendirectoryobject
//sys	ntOpenDirectoryObject(directory *windows.Handle, access uint32, attributes *windows.OBJECT_ATTRIBUTES) (ntstatus error) = ntdll.NtOpenDirectoryObject

// ntOpenJobObject opens a job object.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/nf-ntifs-ntopenjobobject
//sys	ntOpenJobObject(job *windows.Handle, access uint32, attributes *windows.OBJECT_ATTRIBUTES) (ntstatus error) = ntdll.NtOpenJobObject

// ntQueryDirectoryObject lists objects, from position on, as many as the buffer holds; see STATUS_MORE_ENTRIES.
// https://learn.microsoft.com/windows/win32/devnotes/ntquerydirectoryobject
//sys	ntQueryDirectoryObject(directory windows.Handle, buffer *byte, length uint32, single byte, restart byte, position *uint32, returned *uint32) (ntstatus error) = ntdll.NtQueryDirectoryObject

// openObject opens an object by its path, with one of the functions above.
func openObject(open func(*windows.Handle, uint32, *windows.OBJECT_ATTRIBUTES) error, access uint32,
	path string) (h windows.Handle, err error) {
	name, err := windows.NewNTUnicodeString(path)
	if err != nil {
		return 0, err
	}
	attributes := &windows.OBJECT_ATTRIBUTES{Length: uint32(unsafe.Sizeof(windows.OBJECT_ATTRIBUTES{})), ObjectName: name}
	err = open(&h, access, attributes)
	runtime.KeepAlive(name)
	return h, err
}
