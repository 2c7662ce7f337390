// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"errors"
	"os"
	"syscall"
)

// eachExtent reads a file piece by piece, without its holes.
func eachExtent(f *os.File, each func(offset int64, data []byte)) error {
	const seekData, seekHole = 3, 4 // lseek(2)
	buffer := make([]byte, 256<<10)
	for at := int64(0); ; {
		start, err := f.Seek(at, seekData)
		if errors.Is(err, syscall.ENXIO) {
			return nil // only a hole from here on
		}
		if err != nil {
			return err
		}
		if at, err = f.Seek(start, seekHole); err != nil {
			return err
		}
		for start < at {
			n, err := f.ReadAt(buffer[:min(int64(len(buffer)), at-start)], start)
			if err != nil {
				return err
			}
			each(start, buffer[:n])
			start += int64(n)
		}
	}
}
