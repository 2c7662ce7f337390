// SPDX-License-Identifier: Apache-2.0

//go:build unix

package stepwise

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock of a file. Unlock is nil if the file is locked already.
func tryLock(file string) (unlock func(), err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return func() { _ = f.Close() }, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return nil, nil
	}
	return nil, &os.PathError{Op: "lock", Path: file, Err: err}
}
