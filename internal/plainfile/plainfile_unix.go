// SPDX-License-Identifier: Apache-2.0

//go:build unix

package plainfile

import (
	"os"
	"syscall"
)

// withoutWaiting makes open refuse a symbolic link, and not wait for the other end of a pipe.
const withoutWaiting = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

func isRegular(f *os.File) (bool, error) {
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular(), err
}
