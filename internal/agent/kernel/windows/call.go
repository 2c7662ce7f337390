// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"errors"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

const bytesOfUnit = 2 // of UTF-16

// failure wraps the error of a call: a Win32 code, an NTSTATUS or a CONFIGRET. It returns nil for nil.
func failure(function, object string, err error) error {
	if err == nil {
		return nil
	}
	return &kernel.Error{Function: function, Object: object, Code: code(err)}
}

func code(err error) win32.Errno {
	var (
		status windows.NTStatus
		config windows.CONFIGRET
		errno  syscall.Errno
		known  win32.Errno
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &status) && status == windows.STATUS_DELETE_PENDING:
		// RtlNtStatusToDosError turns it into ERROR_ACCESS_DENIED, which would hide that waiting helps.
		return win32.ERROR_DELETE_PENDING
	case errors.As(err, &status):
		return win32.Errno(status.Errno())
	case errors.As(err, &config):
		return win32.Errno(config.Win32Error(windows.ERROR_GEN_FAILURE))
	case errors.As(err, &errno) && errno&syscall.APPLICATION_ERROR == 0:
		return win32.Errno(errno) // also codes above 0xFFFF, such as BitLocker's
	default:
		// One of Go's own codes, which have the bit that Windows leaves to applications: the call failed without a code.
		return win32.ERROR_GEN_FAILURE
	}
}

// wide converts a string to the NUL-terminated form that Windows takes.
func wide(function, s string) (*uint16, error) {
	p, err := windows.UTF16PtrFromString(s)
	if err != nil { // a NUL inside
		return nil, &kernel.Error{Function: function, Object: s, Code: win32.ERROR_INVALID_NAME}
	}
	return p, nil
}

// callAt calls a function of Windows for a path.
func callAt(function, path string, call func(path *uint16) error) error {
	path16, err := wide(function, path)
	if err != nil {
		return err
	}
	return failure(function, path, call(path16))
}

// multiStrings is multiString with Go strings.
func multiStrings(s []uint16) []string {
	var all []string
	for _, one := range multiString(s) {
		all = append(all, windows.UTF16ToString(one))
	}
	return all
}

// filled is grown for a function of Windows.
func filled(function, object string, unit int, call func(n *uint32, buffer *byte) error) ([]byte, error) {
	b, err := grown(unit, func(n *uint32, buffer []byte) error {
		return failure(function, object, call(n, start(buffer)))
	})
	return b, failure(function, object, err)
}

// start returns a pointer to the first byte of a buffer, nil for an empty one.
func start(b []byte) *byte {
	if len(b) == 0 {
		return nil
	}
	return unsafe.SliceData(b)
}

// characters returns a pointer to the UTF-16 units in a buffer of bytes.
func characters(b *byte) *uint16 { return (*uint16)(unsafe.Pointer(b)) }

// units returns the UTF-16 units in a buffer of bytes.
func units(b []byte) []uint16 {
	if len(b) < 2 {
		return nil
	}
	return unsafe.Slice(characters(&b[0]), len(b)/2)
}
