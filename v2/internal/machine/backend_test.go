// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"strings"
	"testing"
)

// TestOpen: an agent is not a machine of the process, and an unknown word opens nothing.
func TestOpen(t *testing.T) {
	t.Setenv(HostAPIVariable, "agent")
	if of, err := open(); of.client == nil || of.node != nil || err != nil {
		t.Errorf("agent: %+v, %v, want a client alone", of, err)
	}
	t.Setenv(HostAPIVariable, "pipes")
	if of, err := open(); of.client != nil || err == nil ||
		!strings.Contains(err.Error(), `CSI_PROXY_HOSTAPI is "pipes"; set it to agent`) {
		t.Errorf("pipes: %+v, %v, want an error that names the values", of, err)
	}
}
