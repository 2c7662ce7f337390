// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// The object manager's spellings of Win32's prefix \\?\, and how the paths begin that need no translation.
const (
	win32Prefix  = `\\?\`
	nativePrefix = `\??\`
	devicePrefix = `\Device\`
)

// OpenFile calls NtCreateFile, which, unlike CreateFileW, opens relative to a directory handle. Without
// FILE_DIRECTORY_FILE and FILE_NON_DIRECTORY_FILE it opens either. An NTSTATUS is translated by
// RtlNtStatusToDosErrorNoTeb.
//
// https://learn.microsoft.com/windows/win32/api/winternl/nf-winternl-ntcreatefile
func (Kernel) OpenFile(dir kernel.Handle, name string, how kernel.OpenOptions) (kernel.Handle, error) {
	const function = "NtCreateFile"
	invalid := func(code win32.Errno) error { return &kernel.Error{Function: function, Object: name, Code: code} }

	native, object := name, name
	var root windows.Handle
	switch {
	case dir == nil && strings.HasPrefix(name, devicePrefix):
	case dir == nil:
		rest, ok := strings.CutPrefix(name, win32Prefix)
		if !ok {
			return nil, invalid(win32.ERROR_INVALID_NAME)
		}
		native = nativePrefix + rest
	default:
		parent, ok := dir.(*handle)
		if !ok {
			return nil, invalid(win32.ERROR_INVALID_HANDLE)
		}
		// Empty, a stream, or a path on which links might be followed: not one component.
		if name == "" || strings.ContainsAny(name, `/:`) || strings.Contains(name, `\`) && !how.NoReparse {
			return nil, invalid(win32.ERROR_INVALID_NAME)
		}
		root, object = parent.windows(), kernel.ObjectIn(parent.object, name)
		if root == windows.InvalidHandle { // closed; as a handle, the value would mean the process itself
			return nil, invalid(win32.ERROR_INVALID_HANDLE)
		}
	}
	unicode, err := windows.NewNTUnicodeString(native)
	if err != nil { // a NUL inside, or more than 32767 units
		return nil, invalid(win32.ERROR_INVALID_NAME)
	}

	attributes := objectAttributes(root, unicode, how)
	var (
		h      windows.Handle
		status windows.IO_STATUS_BLOCK
	)
	err = windows.NtCreateFile(&h, how.Access|windows.SYNCHRONIZE, &attributes, &status, nil,
		windows.FILE_ATTRIBUTE_NORMAL,
		how.Share, how.Disposition, how.Options|windows.FILE_SYNCHRONOUS_IO_NONALERT|windows.FILE_OPEN_FOR_BACKUP_INTENT, 0,
		0)
	if err != nil {
		return nil, failure(function, object, err)
	}
	return newHandle(h, object), nil
}

// objectAttributes says which object is to be opened.
//
// https://learn.microsoft.com/windows/win32/api/ntdef/ns-ntdef-_object_attributes
func objectAttributes(root windows.Handle, name *windows.NTUnicodeString,
	how kernel.OpenOptions) windows.OBJECT_ATTRIBUTES {
	attributes := windows.OBJECT_ATTRIBUTES{RootDirectory: root, ObjectName: name,
		Attributes: windows.OBJ_CASE_INSENSITIVE}
	attributes.Length = uint32(unsafe.Sizeof(attributes))
	if how.NoReparse {
		attributes.Attributes |= windows.OBJ_DONT_REPARSE
	}
	return attributes
}

// SystemWindowsDirectory calls GetSystemWindowsDirectoryW.
//
// https://learn.microsoft.com/windows/win32/api/sysinfoapi/nf-sysinfoapi-getsystemwindowsdirectoryw
func (Kernel) SystemWindowsDirectory() (string, error) {
	dir, err := windows.GetSystemWindowsDirectory()
	return dir, failure("GetSystemWindowsDirectoryW", "", err)
}
