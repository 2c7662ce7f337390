// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows/winapi"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// handle is an open Windows handle, with the path that opened it for use in errors.
type handle struct {
	value        atomic.Uintptr
	object       string
	asynchronous bool // opened without SYNCHRONIZE
}

func newHandle(h windows.Handle, object string) *handle {
	opened := &handle{object: object}
	opened.value.Store(uintptr(h))
	return opened
}

// windows returns the handle, InvalidHandle once it is closed: Windows may have given the number to another object.
func (h *handle) windows() windows.Handle { return windows.Handle(h.value.Load()) }

// DeviceIoControl calls the function of that name, and waits.
// https://learn.microsoft.com/windows/win32/api/ioapiset/nf-ioapiset-deviceiocontrol
func (h *handle) DeviceIoControl(code uint32, in, out []byte) (int, error) {
	var n uint32
	control := func(at *windows.Overlapped) error {
		return windows.DeviceIoControl(h.windows(), code, start(in), uint32(len(in)), start(out), uint32(len(out)), &n, at)
	}
	var err error
	if h.asynchronous {
		n, err = h.await(control, in, out)
	} else {
		err = control(nil)
	}
	if err != nil {
		err = failure("DeviceIoControl", win32.ControlCodeName(code)+" "+h.object, err)
	}
	return int(n), err
}

// await waits for a call by an event, as the handle itself cannot be waited for, and keeps the buffers in place.
// https://learn.microsoft.com/windows/win32/api/ioapiset/nf-ioapiset-getoverlappedresult
func (h *handle) await(call func(*windows.Overlapped) error, buffers ...[]byte) (n uint32, err error) {
	event, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = windows.CloseHandle(event) }()
	at := &windows.Overlapped{HEvent: event}
	var pinned runtime.Pinner
	defer pinned.Unpin()
	pinned.Pin(at)
	for _, b := range buffers {
		if len(b) > 0 {
			pinned.Pin(&b[0])
		}
	}
	if err := call(at); err != nil && !errors.Is(err, windows.ERROR_IO_PENDING) {
		return 0, err
	}
	err = windows.GetOverlappedResult(h.windows(), at, &n, true)
	return n, err
}

// ReadAt calls ReadFile with the offset in an OVERLAPPED; it waits because the handle is synchronous.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-readfile
func (h *handle) ReadAt(p []byte, offset int64) (int, error) {
	var n uint32
	at := &windows.Overlapped{Offset: uint32(offset), OffsetHigh: uint32(offset >> 32)}
	err := windows.ReadFile(h.windows(), p, &n, at)
	switch {
	case errors.Is(err, windows.ERROR_HANDLE_EOF), err == nil && int(n) < len(p):
		return int(n), io.EOF
	default:
		return int(n), failure("ReadFile", h.object, err)
	}
}

// Flush calls FlushFileBuffers.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-flushfilebuffers
func (h *handle) Flush() error {
	return failure("FlushFileBuffers", h.object, windows.FlushFileBuffers(h.windows()))
}

// FinalPath calls GetFinalPathNameByHandleW, which returns the needed length, with its NUL, if the buffer is too small.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-getfinalpathnamebyhandlew
func (h *handle) FinalPath(volumeName uint32) (string, error) {
	const function = "GetFinalPathNameByHandleW"
	b, err := filled(function, h.object, bytesOfUnit, func(n *uint32, buffer *byte) (err error) {
		*n, err = windows.GetFinalPathNameByHandle(h.windows(), characters(buffer), *n, volumeName)
		return err
	})
	return windows.UTF16ToString(units(b)), err
}

// Information calls GetFileInformationByHandleEx.
// https://learn.microsoft.com/windows/win32/api/winbase/nf-winbase-getfileinformationbyhandleex
func (h *handle) Information(class uint32, out []byte) error {
	return failure("GetFileInformationByHandleEx", h.object,
		windows.GetFileInformationByHandleEx(h.windows(), class, start(out), uint32(len(out))))
}

// SetInformation calls SetFileInformationByHandle.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-setfileinformationbyhandle
func (h *handle) SetInformation(class uint32, in []byte) error {
	return failure("SetFileInformationByHandle", h.object,
		windows.SetFileInformationByHandle(h.windows(), class, start(in), uint32(len(in))))
}

// FsInformation calls NtQueryVolumeInformationFile.
func (h *handle) FsInformation(class uint32, out []byte) error {
	var status windows.IO_STATUS_BLOCK
	return failure("NtQueryVolumeInformationFile", h.object,
		winapi.NtQueryVolumeInformationFile(h.windows(), &status, start(out), uint32(len(out)), class))
}

// AccessList calls GetSecurityInfo.
// https://learn.microsoft.com/windows/win32/api/aclapi/nf-aclapi-getsecurityinfo
func (h *handle) AccessList() ([]byte, error) {
	sd, err := windows.GetSecurityInfo(h.windows(), windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return nil, failure("GetSecurityInfo", h.object, err)
	}
	return bytes.Clone(unsafe.Slice((*byte)(unsafe.Pointer(sd)), sd.Length())), nil
}

// SetAccessList calls SetKernelObjectSecurity, which, unlike SetSecurityInfo, leaves alone what is below a directory.
// https://learn.microsoft.com/windows/win32/api/securitybaseapi/nf-securitybaseapi-setkernelobjectsecurity
func (h *handle) SetAccessList(descriptor []byte) error {
	const function = "SetKernelObjectSecurity"
	if _, err := win32.ParseAccessList(descriptor); err != nil {
		return &kernel.Error{Function: function, Object: h.object, Code: win32.ERROR_INVALID_PARAMETER}
	}
	sd := (*windows.SECURITY_DESCRIPTOR)(unsafe.Pointer(start(descriptor)))
	return failure(function, h.object, windows.SetKernelObjectSecurity(h.windows(), windows.DACL_SECURITY_INFORMATION, sd))
}

// Rename calls NtSetInformationFile, which takes the new directory as a handle, and opens it to write into it.
// https://learn.microsoft.com/windows-hardware/drivers/ddi/ntifs/nf-ntifs-ntsetinformationfile
func (h *handle) Rename(dir kernel.Handle, name string) error {
	const function = "NtSetInformationFile"
	into, ok := dir.(*handle)
	if !ok || into.windows() == windows.InvalidHandle {
		return &kernel.Error{Function: function, Object: h.object, Code: win32.ERROR_INVALID_HANDLE}
	}
	if name == "" || strings.ContainsAny(name, `\/:`) { // empty, a path, or a stream: not one component
		return &kernel.Error{Function: function, Object: h.object, Code: win32.ERROR_INVALID_NAME}
	}
	in := win32.FileRename{RootDirectory: uint64(into.windows()), Name: name}.Bytes()
	var status windows.IO_STATUS_BLOCK
	return failure(function, h.object,
		windows.NtSetInformationFile(h.windows(), &status, start(in), uint32(len(in)), windows.FileRenameInformation))
}

// Close calls CloseHandle, once.
// https://learn.microsoft.com/windows/win32/api/handleapi/nf-handleapi-closehandle
func (h *handle) Close() error {
	open := windows.Handle(h.value.Swap(uintptr(windows.InvalidHandle)))
	if open == windows.InvalidHandle {
		return failure("CloseHandle", h.object, windows.ERROR_INVALID_HANDLE)
	}
	return failure("CloseHandle", h.object, windows.CloseHandle(open))
}
