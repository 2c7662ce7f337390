// SPDX-License-Identifier: Apache-2.0

package hostfiles

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// NextData returns the next extent of a file that may have data. At its end both are the same.
func NextData(f *os.File, from, size int64) (at, end int64, err error) {
	if from >= size {
		return size, size, nil
	}
	if at, err = f.Seek(from, unix.SEEK_DATA); errors.Is(err, syscall.ENXIO) { // only a hole follows
		return size, size, nil
	}
	if err != nil {
		return 0, 0, err
	}
	end, err = f.Seek(at, unix.SEEK_HOLE)
	return at, min(end, size), err
}
