// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"context"

	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/local"
)

// Local returns a connection in this process to the node that the agent serves, for every version of every group,
// whatever the agent's selection is. It stays usable when the node reboots.
func (a *Agent) Local() grpc.ClientConnInterface { return current{agent: a} }

type current struct {
	local.NoStreams
	agent *Agent
}

func (l current) Invoke(ctx context.Context, method string, request, response any, opts ...grpc.CallOption) error {
	connection, err := l.agent.connection()
	if err != nil {
		return err
	}
	return connection.Invoke(ctx, method, request, response, opts...)
}

// connection returns a connection to the node as it was last booted.
func (a *Agent) connection() (*local.Connection, error) {
	n, err := a.Node()
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.node != n {
		o := a.server
		if m := a.Metrics(); m != nil {
			o.Metrics = m.Calls
		}
		endpoints, _ := a.withFaults(apis.All(n))
		a.node, a.local = n, local.New(endpoints, o)
	}
	return a.local, nil
}
