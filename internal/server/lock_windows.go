// SPDX-License-Identifier: Apache-2.0

package server

import (
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// errLocked says that another process, or another agent of this one, holds the lock.
var errLocked = windows.ERROR_LOCK_VIOLATION

// modeCounts says that files have owners and modes that protect them, and sockets a mode of their own.
const modeCounts = false

// tryLock locks a file until it is closed or the process ends (LockFileEx). The byte that it locks is the last
// possible one, so that others can read the file.
func tryLock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxInt32})
}
