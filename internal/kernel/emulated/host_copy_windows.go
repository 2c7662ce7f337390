// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// NextData returns the next extent of a file that may have data. At its end both are the same. A file system that does
// not tell, as under Wine, has data everywhere.
// https://learn.microsoft.com/windows/win32/api/winioctl/ni-winioctl-fsctl_query_allocated_ranges
func NextData(f *os.File, from, size int64) (at, end int64, err error) {
	if from >= size {
		return size, size, nil
	}
	type allocatedRange struct{ offset, length int64 } // FILE_ALLOCATED_RANGE_BUFFER
	const bytes = uint32(unsafe.Sizeof(allocatedRange{}))
	asked, first, n := allocatedRange{from, size - from}, allocatedRange{}, uint32(0)
	err = windows.DeviceIoControl(windows.Handle(f.Fd()), windows.FSCTL_QUERY_ALLOCATED_RANGES,
		(*byte)(unsafe.Pointer(&asked)), bytes, (*byte)(unsafe.Pointer(&first)), bytes, &n, nil)
	switch {
	case err == nil && n == 0: // only a hole follows
		return size, size, nil
	case n == bytes && (err == nil || errors.Is(err, windows.ERROR_MORE_DATA)): // whole clusters; there may be more ranges
		return max(first.offset, from), min(first.offset+first.length, size), nil
	}
	return from, size, nil
}
