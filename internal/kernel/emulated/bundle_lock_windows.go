// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"os"

	"golang.org/x/sys/windows"
)

// awaitFileLock takes a lock that ends when the file is closed, and waits for whoever has it.
// https://learn.microsoft.com/windows/win32/api/fileapi/nf-fileapi-lockfileex
func awaitFileLock(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &windows.Overlapped{Offset: lockOffset})
}
