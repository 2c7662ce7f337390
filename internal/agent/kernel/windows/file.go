// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows/winapi"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// Win32's prefix of a path that it does not interpret, and the object manager's spelling of it.
const (
	win32Prefix  = `\\?\`
	nativePrefix = `\??\`
)

// OpenFile calls NtCreateFile, which, unlike CreateFileW, opens relative to a directory handle: a file or a directory,
// unless the options name one. RtlNtStatusToDosErrorNoTeb translates its NTSTATUS.
// https://learn.microsoft.com/windows/win32/api/winternl/nf-winternl-ntcreatefile
func (k Kernel) OpenFile(dir kernel.Handle, name string, how kernel.OpenOptions) (kernel.Handle, error) {
	const function = "NtCreateFile"
	invalid := func(code win32.Errno) error { return &kernel.Error{Function: function, Object: name, Code: code} }

	native, object := name, name
	var root windows.Handle
	flags := uint32(windows.OBJ_CASE_INSENSITIVE)
	switch {
	case how.DontReparse:
		if dir != nil {
			return nil, invalid(win32.ERROR_INVALID_NAME)
		}
		of, below, done, err := k.belowDrive(function, name)
		if err != nil {
			return nil, err
		}
		defer done()
		root, native, flags = of, below, flags|windows.OBJ_DONT_REPARSE
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
		if name == "" || strings.ContainsAny(name, `\/:`) {
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

	attributes := windows.OBJECT_ATTRIBUTES{RootDirectory: root, ObjectName: unicode, Attributes: flags}
	attributes.Length = uint32(unsafe.Sizeof(attributes))
	var (
		h      windows.Handle
		status windows.IO_STATUS_BLOCK
	)
	access, options := how.Access, how.Options|windows.FILE_OPEN_FOR_BACKUP_INTENT
	if !how.Asynchronous {
		access, options = access|windows.SYNCHRONIZE, options|windows.FILE_SYNCHRONOUS_IO_NONALERT
	}
	err = windows.NtCreateFile(&h, access, &attributes, &status, nil,
		windows.FILE_ATTRIBUTE_NORMAL, how.Share, how.Disposition, options, 0, 0)
	if err != nil {
		return nil, failure(function, object, err)
	}
	opened := newHandle(h, object)
	opened.asynchronous = how.Asynchronous
	return opened, nil
}

// QueryAttributes calls NtQueryFullAttributesFile.
func (k Kernel) QueryAttributes(path string) error {
	const function = "NtQueryFullAttributesFile"
	root, below, done, err := k.belowDrive(function, path)
	if err != nil {
		return err
	}
	defer done()
	name, err := windows.NewNTUnicodeString(below)
	if err != nil {
		return &kernel.Error{Function: function, Object: path, Code: win32.ERROR_INVALID_NAME}
	}
	attributes := windows.OBJECT_ATTRIBUTES{RootDirectory: root, ObjectName: name,
		Attributes: windows.OBJ_CASE_INSENSITIVE | windows.OBJ_DONT_REPARSE}
	attributes.Length = uint32(unsafe.Sizeof(attributes))
	var information [win32.SizeofFileNetworkOpen]byte // that it comes is the answer
	return failure(function, path, winapi.NtQueryFullAttributesFile(&attributes, &information[0]))
}

// belowDrive splits a path into the root of its drive, which is open until done is called, and the rest.
func (k Kernel) belowDrive(function, path string) (root windows.Handle, below string, done func(), err error) {
	rest, verbatim := strings.CutPrefix(path, win32Prefix)
	drive, below, ok := strings.Cut(rest, `\`)
	if !ok || !verbatim || len(drive) != len("C:") {
		return 0, "", nil, &kernel.Error{Function: function, Object: path, Code: win32.ERROR_INVALID_NAME}
	}
	of, done, err := k.driveRoot(drive)
	if err != nil {
		return 0, "", nil, err
	}
	return of.windows(), below, done, nil
}

// systemRoot is the root of the drive that Windows runs from, once it was needed. Nothing can take that drive away, so
// an open handle is in no one's way.
var systemRoot atomic.Pointer[handle]

// driveRoot opens the root of a drive, "C:", until done is called: \??\C: itself is a link, of the object manager. The
// root of another drive than the system's must not stay open, or the drive could not be ejected.
func (k Kernel) driveRoot(drive string) (root *handle, done func(), err error) {
	system, err := k.SystemWindowsDirectory()
	if err != nil {
		return nil, nil, err
	}
	stays := strings.EqualFold(system[:min(len(drive), len(system))], drive)
	if root = systemRoot.Load(); stays && root != nil {
		return root, func() {}, nil
	}
	opened, err := k.OpenFile(nil, win32Prefix+drive+`\`, kernel.OpenOptions{Access: win32.FILE_TRAVERSE,
		Share:       win32.FILE_SHARE_READ | win32.FILE_SHARE_WRITE | win32.FILE_SHARE_DELETE,
		Disposition: win32.FILE_OPEN, Options: win32.FILE_DIRECTORY_FILE})
	if err != nil {
		return nil, nil, err
	}
	root, _ = opened.(*handle)
	if stays && systemRoot.CompareAndSwap(nil, root) {
		return root, func() {}, nil
	}
	return root, func() { _ = root.Close() }, nil
}
