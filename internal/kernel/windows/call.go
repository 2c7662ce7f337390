// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"errors"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// growRounds bounds how often a call is repeated with the larger buffer that it asked for.
const growRounds = 8

// failure wraps what a call returned: a Win32 code, an NTSTATUS or a CONFIGRET. It is nil for nil.
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
		// RtlNtStatusToDosError makes ERROR_ACCESS_DENIED of it, which would hide that waiting helps.
		return win32.ERROR_DELETE_PENDING
	case errors.As(err, &status):
		return win32.Errno(status.Errno())
	case errors.As(err, &config):
		return win32.Errno(config.Win32Error(windows.ERROR_GEN_FAILURE))
	case errors.As(err, &errno) && errno&syscall.APPLICATION_ERROR == 0:
		return win32.Errno(errno) // also those above 0xFFFF, such as BitLocker's
	default:
		// Go's own codes, which have the bit that Windows leaves to applications: a call that failed without a code.
		return win32.ERROR_GEN_FAILURE
	}
}

// wide converts a string that Windows takes NUL-terminated.
func wide(function, s string) (*uint16, error) {
	p, err := windows.UTF16PtrFromString(s)
	if err != nil { // a NUL inside
		return nil, &kernel.Error{Function: function, Object: s, Code: win32.ERROR_INVALID_NAME}
	}
	return p, nil
}

// multiStrings is multiString for Go.
func multiStrings(s []uint16) []string {
	var all []string
	for _, one := range multiString(s) {
		all = append(all, windows.UTF16ToString(one))
	}
	return all
}

// start returns where a buffer begins, nil for an empty one.
func start(b []byte) *byte {
	if len(b) == 0 {
		return nil
	}
	return unsafe.SliceData(b)
}
