// SPDX-License-Identifier: Apache-2.0

//go:build unix

package records

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/plainfile"
)

// tryLock takes the lock of a file, which it makes, and removes with the lock; nil if the file is locked already.
func tryLock(file string) (unlock func(), err error) {
	f, err := plainfile.Create(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		if err = sameFile(f, file); err == nil {
			return func() { _ = os.Remove(file); _ = f.Close() }, nil // still locked when it goes
		}
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // another one has it
	}
	return nil, &os.PathError{Op: "lock", Path: file, Err: err}
}

// sameFile fails with fs.ErrNotExist if a path leads to another file than the open one: the last holder removed that.
func sameFile(f *os.File, path string) error {
	opened, err := f.Stat()
	if err != nil {
		return err
	}
	now, err := os.Lstat(path)
	if err == nil && !os.SameFile(opened, now) {
		err = fs.ErrNotExist
	}
	return err
}

// inUse reports whether a file cannot be changed because it is open, which does not matter here.
func inUse(error) bool { return false }
