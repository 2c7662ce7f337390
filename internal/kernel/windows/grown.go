// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

const (
	grownRounds = 8
	maxGrown    = 16 << 20 // bytes
)

// grown makes a call that fills a buffer of n units of the given size in bytes, and sets n to the number of units that it
// filled or needs. The first buffer is empty, because the list of iSCSI sessions fails with one that is too large. The
// answer may grow between two rounds, so there can be several. With any other error, grown also returns what the call
// has filled.
func grown(unit int, call func(n *uint32, buffer []byte) error) ([]byte, error) {
	var buffer []byte
	for range grownRounds {
		room := len(buffer) / unit
		n := uint32(room)
		err := call(&n, buffer)
		small := int64(n) > int64(room)
		switch {
		case err != nil && !errors.Is(err, win32.ERROR_INSUFFICIENT_BUFFER) && !errors.Is(err, win32.ERROR_MORE_DATA) && !errors.Is(err, win32.ISDSC_BUFFER_TOO_SMALL):
			return buffer[:min(int64(n), int64(room))*int64(unit)], err
		case !small:
			return buffer[:int(n)*unit], err
		case int64(n) > maxGrown/int64(unit):
			return nil, win32.ERROR_INSUFFICIENT_BUFFER
		}
		buffer = make([]byte, int(n)*unit)
	}
	return nil, win32.ERROR_INSUFFICIENT_BUFFER
}
