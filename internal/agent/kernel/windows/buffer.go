// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

const (
	// The size of the first buffer, whichever is more: most nodes have few portals, sessions and disks.
	firstUnits = 4
	firstBytes = 512

	maxGrown = 16 << 20 // bytes
)

// grown makes a call that fills a buffer of n units of the given size in bytes, and sets n to the units that it filled
// or needs. The buffer begins small, because the list of sessions has been seen to fail with a large one, but never
// empty: its pages do not call it optional. A call that finds it too small and needs no more has been seen to count
// wrongly, and gets twice as much. One that needs none does not know yet, and fails with ERROR_INSUFFICIENT_BUFFER.
// With a warning, grown also returns what the call has filled.
func grown(unit int, call func(n *uint32, buffer []byte) error) ([]byte, error) {
	for room := max(firstUnits, firstBytes/unit); room <= maxGrown/unit; {
		buffer := make([]byte, room*unit)
		n := uint32(room)
		err := call(&n, buffer)
		var code win32.Errno
		short := tooSmall(err)
		switch needed := int64(n); {
		case err != nil && !short && errors.As(err, &code) && code.IsISCSIWarning():
			return buffer[:min(needed, int64(room))*int64(unit)], err
		case err != nil && !short:
			return nil, err
		case short && needed == 0:
			return nil, win32.ERROR_INSUFFICIENT_BUFFER
		case !short && needed <= int64(room):
			return buffer[:int(n)*unit], nil
		case needed > maxGrown/int64(unit):
			return nil, win32.ERROR_INSUFFICIENT_BUFFER
		default:
			room = max(2*room, int(needed))
		}
	}
	return nil, win32.ERROR_INSUFFICIENT_BUFFER
}

// tooSmall reports whether a call failed because its buffer was too small.
func tooSmall(err error) bool {
	return errors.Is(err, win32.ERROR_INSUFFICIENT_BUFFER) || errors.Is(err, win32.ERROR_MORE_DATA) ||
		errors.Is(err, win32.ISDSC_BUFFER_TOO_SMALL)
}

// noLogins returns the status of ReportIScsiPersistentLoginsW, or success if it says that the buffer is too small and
// needs no bytes: it has been seen to say so without logins (github.com/hpe-storage/common-host-libs). Of
// ReportIScsiTargetsW the same answer was seen for a moment, with targets.
func noLogins(needed, status uint32) uint32 {
	if needed == 0 && tooSmall(win32.ISCSIStatus(status)) {
		return 0
	}
	return status
}

// multiString splits a MULTI_SZ into its strings, without their NULs: each string ends with a NUL, and the list with an
// empty string. Anything after that is ignored; a list whose end is missing ends with the buffer.
func multiString(s []uint16) [][]uint16 {
	var all [][]uint16
	for len(s) > 0 && s[0] != 0 {
		end := slices.Index(s, 0)
		if end < 0 {
			return append(all, s)
		}
		all, s = append(all, s[:end]), s[end+1:]
	}
	return all
}
