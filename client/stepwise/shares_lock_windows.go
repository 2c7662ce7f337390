// SPDX-License-Identifier: Apache-2.0

package stepwise

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock of a file: it opens the file without sharing. Unlock is nil if the file is locked already.
func tryLock(file string) (unlock func(), err error) {
	const errorSharingViolation = syscall.Errno(32)
	name, err := syscall.UTF16PtrFromString(file)
	if err != nil {
		return nil, &os.PathError{Op: "lock", Path: file, Err: err}
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS,
		syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, errorSharingViolation) {
		return nil, nil
	}
	if err != nil {
		return nil, &os.PathError{Op: "lock", Path: file, Err: err}
	}
	return func() { _ = syscall.CloseHandle(h) }, nil
}
