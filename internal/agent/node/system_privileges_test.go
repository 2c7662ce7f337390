// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// A privilege whose first two attempts fail is enabled all the same: the agent that starts then can make links.
func TestPrivilegeIsEnabledAgainAfterFailure(t *testing.T) {
	attempts := map[string]int{}
	n, _ := smbNode(t, func(_ context.Context, call kernel.Call, do func() error) error {
		if call.Function == "EnablePrivilege" {
			if attempts[call.Object]++; attempts[call.Object] <= 2 {
				return &kernel.Error{Function: call.Function, Object: call.Object, Code: win32.ERROR_IO_DEVICE}
			}
		}
		return do()
	})
	target := KubeletDir + `\pods\target`
	must(t, by(t.Context(), n).Mkdir(target))
	if err := by(t.Context(), n).CreateSymlink(target, testLink); err != nil {
		t.Errorf("after %v attempts: %v", attempts, err)
	}
}
