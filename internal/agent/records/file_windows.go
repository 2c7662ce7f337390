// SPDX-License-Identifier: Apache-2.0

package records

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// open opens a regular file to read it and follows no link. While it is open, others may do everything with it.
func open(file string) (*os.File, error) {
	return openRegular(file, windows.GENERIC_READ,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, windows.OPEN_EXISTING)
}

func openRegular(file string, access, share, disposition uint32) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(file)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: file, Err: err}
	}
	h, err := windows.CreateFile(name, access, share, nil, disposition,
		windows.FILE_ATTRIBUTE_NORMAL|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: file, Err: err}
	}
	return regular(os.NewFile(uintptr(h), file))
}

// tryLock takes the lock of a file, which lasts until it is closed: it opens the file without sharing. It returns nil
// if the file is locked already.
func tryLock(file string) (*os.File, error) {
	f, err := openRegular(file, windows.GENERIC_READ|windows.GENERIC_WRITE, 0, windows.OPEN_ALWAYS)
	if errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
		return nil, nil //nolint:nilnil // another one has it
	}
	return f, err
}

// inUse reports whether a file cannot be changed because it is open.
func inUse(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
}
