// SPDX-License-Identifier: Apache-2.0

package records

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/plainfile"
)

// tryLock takes the lock of a file, which lasts until it is closed: it opens the file without sharing, and no link. It
// returns nil if the file is locked already.
func tryLock(file string) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(file)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: file, Err: err}
	}
	h, err := windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE, 0, nil, windows.OPEN_ALWAYS,
		windows.FILE_ATTRIBUTE_NORMAL|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	switch {
	case errors.Is(err, windows.ERROR_SHARING_VIOLATION):
		return nil, nil //nolint:nilnil // another one has it
	case err != nil:
		return nil, &os.PathError{Op: "open", Path: file, Err: err}
	}
	return plainfile.Regular(os.NewFile(uintptr(h), file))
}

// inUse reports whether a file cannot be changed because it is open.
func inUse(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
}
