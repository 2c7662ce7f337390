// SPDX-License-Identifier: Apache-2.0

package windows

import "github.com/kubernetes-csi/csi-proxy/internal/win32"

// reportLogins makes one call of ReportIScsiPersistentLoginsW, which fills in count and size. If there are no logins, it
// has been seen to report that the buffer is too small and the needed size is 0: that is an empty list.
func reportLogins(count, size *uint32, report func() (status uint32)) (status uint32) {
	status = report()
	if *size == 0 && win32.ISCSIStatus(status) == win32.ERROR_INSUFFICIENT_BUFFER {
		*count = 0
		return 0
	}
	return status
}
