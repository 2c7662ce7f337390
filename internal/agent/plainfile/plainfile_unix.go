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

// Names returns how many names, hard links, an open file has.
func Names(f *os.File) (uint64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink), nil //nolint:unconvert // its type is not the same everywhere
	}
	return 0, nil
}
