// SPDX-License-Identifier: Apache-2.0

package win32

import (
	"cmp"
	"fmt"
	"slices"
)

// Errno is a Windows error code as GetLastError returns it. It is an error itself; 0 is success and should not be used
// as an error.
// https://learn.microsoft.com/windows/win32/debug/system-error-codes
type Errno uint32

// Error returns a description and the name of the code: "access is denied (ERROR_ACCESS_DENIED, 5)".
func (e Errno) Error() string {
	if known, ok := lookUp(e); ok {
		if e > 0xFFFF { // an HRESULT or the like, usually written in hexadecimal
			return fmt.Sprintf("%s (%s, 0x%08x)", known.text, known.name, uint32(e))
		}
		return fmt.Sprintf("%s (%s, %d)", known.text, known.name, uint32(e))
	}
	if e > 0xFFFF {
		return fmt.Sprintf("Windows error 0x%08x", uint32(e))
	}
	return fmt.Sprintf("Windows error %d", uint32(e))
}

// Name returns the code's name in winerror.h, or "" if this package does not know it.
func (e Errno) Name() string {
	known, _ := lookUp(e)
	return known.name
}

type errnoEntry struct {
	code Errno
	name string
	text string
}

func lookUp(e Errno) (errnoEntry, bool) {
	i, found := slices.BinarySearchFunc(errnoTable[:], e, func(entry errnoEntry, e Errno) int {
		return cmp.Compare(entry.code, e)
	})
	if !found {
		return errnoEntry{}, false
	}
	return errnoTable[i], true
}
