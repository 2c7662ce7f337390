// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockAppends waits until no other handle of a file has this lock, and takes it. The system lets go of it with the
// handle. Windows appends what one write has undivided; Wine first looks for the end and then writes there. The byte
// that is locked lies beyond all that is ever written, because what is locked cannot be read.
func lockAppends(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0,
		&windows.Overlapped{OffsetHigh: 1 << 30})
	return os.NewSyscallError("LockFileEx", err)
}
