// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package logfile

import (
	"io/fs"
	"os"
	"syscall"
)

// namesOf returns the number of names of an open file.
func namesOf(_ *os.File, info fs.FileInfo) (names uint64, err error) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		names = uint64(stat.Nlink) //nolint:unconvert // its type is not the same everywhere
	}
	return names, nil
}
