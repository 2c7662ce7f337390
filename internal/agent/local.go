// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"

	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// Local is a connection in this process to the node that the agent serves, for every version of every group, whatever
// the agent's selection is. It stays good when the node reboots.
func (a *Agent) Local() grpc.ClientConnInterface { return local{a} }

type local struct{ agent *Agent }

func (l local) Invoke(ctx context.Context, method string, request, response any, opts ...grpc.CallOption) error {
	connection := l.agent.connection()
	if connection == nil {
		return notServed()
	}
	return connection.Invoke(ctx, method, request, response, opts...)
}

func (l local) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return l.agent.connection().NewStream(ctx, desc, method, opts...) // which fails, also for a nil one
}

// connection is nil while the node is away.
func (a *Agent) connection() *server.Local {
	a.mu.RLock()
	local := a.local
	a.mu.RUnlock()
	if local == nil {
		return nil
	}
	return local()
}
