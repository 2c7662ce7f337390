// SPDX-License-Identifier: Apache-2.0

package caller

import (
	"context"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/calls"
)

// Calls are the calls of the newest versions, and checks of what came of them. Any method that is not a call ends the
// test when a call fails.
type Calls struct {
	*calls.Calls
	t testing.TB
}

// Of returns the calls of a node's clients, for a test or a part of it.
func Of(t testing.TB, n *csiproxytest.Node) *Calls {
	t.Helper()
	steps := n.Client().NodeSteps
	return &Calls{calls.By(t.Context(), func() *csiproxy.Client { // a reboot changes them
		return &csiproxy.Client{Disk: n.Disk, Filesystem: n.Filesystem, ISCSI: n.ISCSI, NodeSteps: steps, SMB: n.SMB,
			System: n.System, Volume: n.Volume}
	}), t}
}

// By returns the calls of a client.
func By(t testing.TB, client *csiproxy.Client) *Calls {
	t.Helper()
	return &Calls{calls.By(t.Context(), func() *csiproxy.Client { return client }), t}
}

// Within returns the same calls with another context.
func (c *Calls) Within(ctx context.Context) *Calls { return &Calls{c.Calls.Within(ctx), c.t} }
