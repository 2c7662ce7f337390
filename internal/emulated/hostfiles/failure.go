// SPDX-License-Identifier: Apache-2.0

package hostfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/plainfile"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// Code returns the Win32 code of an error: its own, or Windows' counterpart of the host's error.
func Code(err error) win32.Errno {
	var errno win32.Errno
	switch {
	case errors.As(err, &errno):
		return errno
	case errors.Is(err, fs.ErrNotExist):
		return win32.ERROR_FILE_NOT_FOUND
	case isNotEmpty(err): // which is an fs.ErrExist, too
		return win32.ERROR_DIR_NOT_EMPTY
	case errors.Is(err, fs.ErrExist):
		return win32.ERROR_ALREADY_EXISTS
	case errors.Is(err, fs.ErrPermission):
		return win32.ERROR_ACCESS_DENIED
	case isDiskFull(err):
		return win32.ERROR_DISK_FULL
	case isNameTooLong(err):
		return win32.ERROR_INVALID_NAME
	default:
		return win32.ERROR_IO_DEVICE
	}
}

// DamagedError means that a file of the state directory cannot be used. Nothing was changed.
type DamagedError struct {
	File    string
	Problem string // the reason
	Advice  string // what a person can do
}

// Damaged returns a *DamagedError.
func Damaged(file, problem, advice string) error { return &DamagedError{file, problem, advice} }

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s: %s; %s", e.File, e.Problem, e.Advice)
}

// ReadOwn reads a file that the node made. A missing file is os.ErrNotExist, one that is not as the node made it a
// *DamagedError.
func ReadOwn(file string, most int64, advice string, decode func(text []byte) error) error {
	text, err := plainfile.Read(file, most)
	if err != nil && !errors.Is(err, plainfile.ErrNotRegular) && !errors.Is(err, plainfile.ErrTooLong) {
		return err
	}
	if err == nil {
		err = decode(text)
	}
	if err == nil {
		return nil
	}
	problem := err.Error()
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		problem = failed.Err.Error()
	}
	return Damaged(file, problem, advice)
}
