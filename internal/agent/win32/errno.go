// SPDX-License-Identifier: Apache-2.0

package win32

import "fmt"

//go:generate go run ../../../hack/mknames

// Errno is a Windows error code as GetLastError returns it, and an error itself, except for 0, which is success.
// https://learn.microsoft.com/windows/win32/debug/system-error-codes
type Errno uint32

// Error returns a description and the name of the code: "access is denied (ERROR_ACCESS_DENIED, 5)".
func (e Errno) Error() string {
	number := fmt.Sprint(uint32(e))
	if e > 0xFFFF { // an HRESULT or the like, usually written in hexadecimal
		number = fmt.Sprintf("0x%08x", uint32(e))
	}
	if name := e.Name(); name != "" {
		return fmt.Sprintf("%s (%s, %s)", errnos[e].text, name, number)
	}
	return "Windows error " + number
}

// Name returns the code's name in winerror.h, or "" if this package does not know it.
func (e Errno) Name() string { return errnos[e].name }
