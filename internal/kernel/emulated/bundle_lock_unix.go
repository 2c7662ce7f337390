// SPDX-License-Identifier: Apache-2.0

//go:build unix

package emulated

import (
	"errors"
	"os"
	"syscall"
)

// awaitFileLock takes a lock that ends when the file is closed, and waits for whoever has it.
func awaitFileLock(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
