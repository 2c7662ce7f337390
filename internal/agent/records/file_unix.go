// SPDX-License-Identifier: Apache-2.0

//go:build unix

package records

import (
	"errors"
	"os"
	"syscall"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/plainfile"
)

// tryLock takes the lock of a file, which lasts until it is closed; nil if the file is locked already.
func tryLock(file string) (*os.File, error) {
	f, err := plainfile.Create(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return nil, nil //nolint:nilnil // another one has it
	}
	return nil, &os.PathError{Op: "lock", Path: file, Err: err}
}

// inUse reports whether a file cannot be changed because it is open, which does not matter here.
func inUse(error) bool { return false }
