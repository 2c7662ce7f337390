// SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/journal"
)

// A call changes the node unless it is known not to, whatever is known of its parameters.
func TestChanges(t *testing.T) {
	opening := func(disposition uint32) []any { return []any{kernel.OpenOptions{Disposition: disposition}} }
	for name, test := range map[string]struct {
		call kernel.Call
		want bool
	}{
		"look":                {kernel.Call{Function: "QueryAttributes"}, false},
		"open":                {kernel.Call{Function: "OpenFile", Parameters: opening(win32.FILE_OPEN)}, false},
		"make":                {kernel.Call{Function: "OpenFile", Parameters: opening(win32.FILE_CREATE)}, true},
		"without parameters":  {kernel.Call{Function: "OpenFile"}, true},
		"other parameters":    {kernel.Call{Function: "OpenFile", Parameters: []any{"x"}}, true},
		"ask":                 {kernel.Call{Function: "DeviceIoControl", Code: win32.IOCTL_DISK_GET_LENGTH_INFO}, false},
		"unknown code":        {kernel.Call{Function: "DeviceIoControl", Code: 1}, true},
		"an unknown function": {kernel.Call{Function: "None"}, true},
	} {
		if got := journal.Changes(test.call); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
