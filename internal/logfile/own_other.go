// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package logfile

import (
	"io/fs"
	"os"
	"syscall"
)

// notFollowing makes open refuse a symbolic link, and not wait for the reader of a pipe.
const notFollowing = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// identify returns the number of names of an open file. There are no reparse points.
func identify(_ *os.File, info fs.FileInfo) (names uint64, reparse bool, err error) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		names = uint64(stat.Nlink) //nolint:unconvert // its type is not the same everywhere
	}
	return names, false, nil
}
