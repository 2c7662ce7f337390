// SPDX-License-Identifier: Apache-2.0

//go:build unix

package server

import (
	"errors"
	"os"
	"syscall"
)

// errLocked says that another process, or another agent of this one, holds the lock.
var errLocked = syscall.EWOULDBLOCK

// modeCounts says that files have owners and modes that protect them, and sockets a mode of their own.
const modeCounts = true

// tryLock locks a file until it is closed or the process ends (flock(2)).
func tryLock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
