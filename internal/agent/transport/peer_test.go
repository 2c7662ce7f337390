// SPDX-License-Identifier: Apache-2.0

package transport_test

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
)

func TestPeerAsText(t *testing.T) {
	root := 0
	for want, peer := range map[string]transport.Peer{
		"in process":            {InProcess: true},
		"unknown process":       {},
		"pid 7":                 {PID: 7},
		"pid 7 uid 0":           {PID: 7, UID: &root},
		"pid 0 uid 0":           {UID: &root}, // a process outside the agent's PID namespace
		`pid 7 C:\a driver.exe`: {PID: 7, Image: `C:\a driver.exe`},
	} {
		if got := peer.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
