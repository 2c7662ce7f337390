// SPDX-License-Identifier: Apache-2.0

package win32_test

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func TestStatesInWords(t *testing.T) {
	for s, want := range map[win32.ServiceState]string{0: "in an unknown state", 4: "running",
		7: "paused", 8: "in state 8"} {
		if got := s.String(); got != want {
			t.Errorf("%d: %q, want %q", uint32(s), got, want)
		}
	}
}
