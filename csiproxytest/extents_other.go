// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package csiproxytest

import (
	"errors"
	"io"
	"os"
)

// eachExtent reads a whole file piece by piece.
func eachExtent(f *os.File, each func(offset int64, data []byte)) error {
	data := make([]byte, 1<<20)
	for at := int64(0); ; {
		n, err := f.ReadAt(data, at)
		each(at, data[:n])
		at += int64(n)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
