// SPDX-License-Identifier: Apache-2.0

package records

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/plainfile"
)

// tryLock takes the lock of a file: it opens the file without sharing, and no link, and Windows removes the file with
// its last handle. It returns nil if the file is locked already. One that is just being removed is inUse.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-createfilew
func tryLock(file string) (unlock func(), err error) {
	name, err := windows.UTF16PtrFromString(file)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: file, Err: err}
	}
	h, err := windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE|windows.DELETE, 0, nil,
		windows.OPEN_ALWAYS,
		windows.FILE_ATTRIBUTE_NORMAL|windows.FILE_FLAG_OPEN_REPARSE_POINT|windows.FILE_FLAG_DELETE_ON_CLOSE, 0)
	switch {
	case errors.Is(err, windows.ERROR_SHARING_VIOLATION):
		return nil, nil //nolint:nilnil // another one has it
	case err != nil:
		return nil, &os.PathError{Op: "open", Path: file, Err: err}
	}
	f, err := plainfile.Regular(os.NewFile(uintptr(h), file))
	if err != nil {
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// inUse reports whether a file cannot be changed because it is open.
func inUse(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
}
