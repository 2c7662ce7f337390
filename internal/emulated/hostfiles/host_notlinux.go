// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package hostfiles

import (
	"os"
)

// NextData returns the rest of a file: holes read as zeros, which are not written.
func NextData(_ *os.File, from, size int64) (at, end int64, err error) { return from, size, nil }
