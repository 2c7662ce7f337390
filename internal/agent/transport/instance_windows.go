// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"math"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/windows"
)

// bufferBytes is the size of each direction's buffer: a full HTTP/2 window.
const bufferBytes = 64 << 10

// unlimited is the limit of a pipe's instances: how many connections there will be is not known.
const unlimited = math.MaxUint32

// instance is a server end of a pipe. Only the goroutine of pipes calls its methods, except for close before await.
type instance struct {
	handle     windows.Handle
	overlapped windows.Overlapped // the kernel writes into it until ready
}

// Dispositions: whether a new instance needs a new name or an existing one.
const (
	makeName = windows.FILE_CREATE // fails with ERROR_ACCESS_DENIED when it exists
	findName = windows.FILE_OPEN
)

// newInstance makes an instance; await must still be called. CreateNamedPipeW, the same call, cannot ask for findName.
// https://learn.microsoft.com/windows/win32/devnotes/nt-create-named-pipe-file
func newInstance(name *windows.NTUnicodeString, security *windows.SECURITY_DESCRIPTOR, disposition,
	furtherAccess uint32) (*instance, error) {
	attributes := &windows.OBJECT_ATTRIBUTES{
		Length:     uint32(unsafe.Sizeof(windows.OBJECT_ATTRIBUTES{})),
		ObjectName: name, Attributes: windows.OBJ_CASE_INSENSITIVE, SecurityDescriptor: security,
	}
	wait := int64(-50 * 10_000) // WaitNamedPipe's default, 50 ms in units of 100 ns
	var h windows.Handle
	err := windows.NtCreateNamedPipeFile(&h, windows.GENERIC_READ|windows.GENERIC_WRITE|windows.SYNCHRONIZE|furtherAccess,
		attributes,
		&windows.IO_STATUS_BLOCK{}, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, disposition, 0, // overlapped
		windows.FILE_PIPE_BYTE_STREAM_TYPE|windows.FILE_PIPE_REJECT_REMOTE_CLIENTS, windows.FILE_PIPE_BYTE_STREAM_MODE,
		windows.FILE_PIPE_QUEUE_OPERATION, unlimited, bufferBytes, bufferBytes, &wait)
	if err != nil {
		if status, ok := err.(windows.NTStatus); ok { //nolint:errorlint // the function returns exactly this type
			err = status.Errno() // people know Win32's codes and texts
		}
		return nil, os.NewSyscallError("NtCreateNamedPipeFile", err)
	}
	return &instance{handle: h}, nil
}

// await asks for the event to be set when a client connects, if none has. When it fails, the instance is closed.
func (i *instance) await(event windows.Handle) error {
	i.overlapped = windows.Overlapped{HEvent: event, Internal: uintptr(windows.STATUS_PENDING)}
	switch err := windows.ConnectNamedPipe(i.handle, &i.overlapped); {
	case err == nil, errors.Is(err, windows.ERROR_IO_PENDING):
	case errors.Is(err, windows.ERROR_PIPE_CONNECTED), errors.Is(err, windows.ERROR_NO_DATA):
		// A client was faster. It may be gone again, which its connection will show.
		atomic.StoreUintptr(&i.overlapped.Internal, 0)
	default:
		i.close()
		return os.NewSyscallError("ConnectNamedPipe", err)
	}
	return nil
}

// ready reports whether a client has connected, or none will any more.
func (i *instance) ready() bool {
	return atomic.LoadUintptr(&i.overlapped.Internal) != uintptr(windows.STATUS_PENDING)
}

// connected reports whether a ready instance has a client.
func (i *instance) connected() bool { return atomic.LoadUintptr(&i.overlapped.Internal) == 0 }

// cancelled reports whether a ready instance lost its request for a client. A client may connect all the same.
func (i *instance) cancelled() bool {
	return atomic.LoadUintptr(&i.overlapped.Internal) == uintptr(windows.STATUS_CANCELLED)
}

// cancel gives up waiting for a client; the instance is ready soon after.
func (i *instance) cancel() { _ = windows.CancelIoEx(i.handle, &i.overlapped) }

// close closes the handle. The instance must be ready, or not waiting.
func (i *instance) close() { _ = windows.CloseHandle(i.handle) }
