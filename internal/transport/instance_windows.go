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

// unlimited is how many instances there may be: the connections' number is not known.
const unlimited = math.MaxUint32

// instance is one end of a pipe that no client uses yet. Its methods are for the place's goroutine, but for close before await.
type instance struct {
	handle     windows.Handle
	overlapped windows.Overlapped // the kernel writes into it until ready
}

// What the name has to be for an instance that is made: new, or there.
const (
	makeName = windows.FILE_CREATE // fails with ERROR_ACCESS_DENIED when it exists
	findName = windows.FILE_OPEN
)

// newInstance makes an instance that clients can connect to; await is still to be called. CreateNamedPipeW makes the same
// call, and has no way to ask for findName.
//
// https://learn.microsoft.com/windows/win32/devnotes/nt-create-named-pipe-file
func newInstance(name *windows.NTUnicodeString, security *windows.SECURITY_DESCRIPTOR, disposition, furtherAccess uint32) (*instance, error) {
	attributes := &windows.OBJECT_ATTRIBUTES{
		Length:     uint32(unsafe.Sizeof(windows.OBJECT_ATTRIBUTES{})),
		ObjectName: name, Attributes: windows.OBJ_CASE_INSENSITIVE, SecurityDescriptor: security,
	}
	wait := int64(-50 * 10_000) // WaitNamedPipe's default, 50 ms in units of 100 ns
	var h windows.Handle
	err := windows.NtCreateNamedPipeFile(&h, windows.GENERIC_READ|windows.GENERIC_WRITE|windows.SYNCHRONIZE|furtherAccess, attributes,
		&windows.IO_STATUS_BLOCK{}, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, disposition, 0, // overlapped
		windows.FILE_PIPE_BYTE_STREAM_TYPE|windows.FILE_PIPE_REJECT_REMOTE_CLIENTS, windows.FILE_PIPE_BYTE_STREAM_MODE,
		windows.FILE_PIPE_QUEUE_OPERATION, unlimited, bufferBytes, bufferBytes, &wait)
	if err != nil {
		if status, ok := err.(windows.NTStatus); ok { //nolint:errorlint // exactly this comes back
			err = status.Errno() // people know Win32's codes and texts
		}
		return nil, os.NewSyscallError("NtCreateNamedPipeFile", err)
	}
	return &instance{handle: h}, nil
}

// await asks to be told by the event when a client connects, which one may have done already. When it fails the instance
// is closed.
func (i *instance) await(event windows.Handle) error {
	i.overlapped = windows.Overlapped{HEvent: event, Internal: uintptr(windows.STATUS_PENDING)}
	switch err := windows.ConnectNamedPipe(i.handle, &i.overlapped); {
	case err == nil, errors.Is(err, windows.ERROR_IO_PENDING):
	case errors.Is(err, windows.ERROR_PIPE_CONNECTED), errors.Is(err, windows.ERROR_NO_DATA):
		// A client was faster, and may be gone again, which its connection tells.
		atomic.StoreUintptr(&i.overlapped.Internal, 0)
	default:
		i.close()
		return os.NewSyscallError("ConnectNamedPipe", err)
	}
	return nil
}

// ready reports whether a client is there, or none will come any more.
func (i *instance) ready() bool {
	return atomic.LoadUintptr(&i.overlapped.Internal) != uintptr(windows.STATUS_PENDING)
}

// connected reports, of an instance that is ready, whether it has a client.
func (i *instance) connected() bool { return atomic.LoadUintptr(&i.overlapped.Internal) == 0 }

// cancelled reports, of an instance that is ready, whether nobody waits for its client any more. One may come all the same.
func (i *instance) cancelled() bool {
	return atomic.LoadUintptr(&i.overlapped.Internal) == uintptr(windows.STATUS_CANCELLED)
}

// cancel gives up waiting for a client; the instance is ready soon after.
func (i *instance) cancel() { _ = windows.CancelIoEx(i.handle, &i.overlapped) }

// close gives the handle back. The instance is ready, or nobody waits for it.
func (i *instance) close() { _ = windows.CloseHandle(i.handle) }
