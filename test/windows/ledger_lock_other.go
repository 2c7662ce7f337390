// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package windows

import (
	"os"
	"syscall"
)

// lockAppends waits until no other handle of a file has this lock, and takes it. The system lets go of it with the
// handle.
func lockAppends(f *os.File) error {
	return os.NewSyscallError("flock", syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
}
