// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// Codes of the storage management API, for which winerror.h has no names.
//
// https://learn.microsoft.com/windows-hardware/drivers/storage/storage-management-api-common-return-codes
const (
	StorageCacheOutOfDate win32.Errno = 40003
	StorageNotInCache     win32.Errno = 40006
	StorageDiskOffline    win32.Errno = 41003
)

// Error is a failed kernel call: the Win32 function, its object and the code that Windows returned.
// errors.Is(err, win32.ERROR_X) tests the code.
type Error struct {
	Function string      // as in Microsoft's documentation: "SetVolumeMountPointW"
	Object   string      // the path, device or control code; never a secret
	Code     win32.Errno // what GetLastError, or the function itself, returned
}

func (e *Error) Error() string {
	if e.Object == "" {
		return fmt.Sprintf("%s: %v", e.Function, e.Code)
	}
	return fmt.Sprintf("%s %s: %v", e.Function, e.Object, e.Code)
}

// Unwrap returns the Win32 code.
func (e *Error) Unwrap() error { return e.Code }
