// SPDX-License-Identifier: Apache-2.0

package testnode

import (
	"errors"
	"os"
	"syscall"
)

// eachExtent reads a file but its holes, in pieces.
func eachExtent(f *os.File, each func(offset int64, data []byte)) error {
	const seekData, seekHole = 3, 4 // lseek(2)
	for at := int64(0); ; {
		start, err := f.Seek(at, seekData)
		if errors.Is(err, syscall.ENXIO) {
			return nil // nothing but a hole from here on
		}
		if err != nil {
			return err
		}
		if at, err = f.Seek(start, seekHole); err != nil {
			return err
		}
		data := make([]byte, at-start)
		if _, err := f.ReadAt(data, start); err != nil {
			return err
		}
		each(start, data)
	}
}
