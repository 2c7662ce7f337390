// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"

	"google.golang.org/grpc"
)

// Local is a connection in this process to the node that the agent serves, for every version of every group, whatever
// the agent's selection is. It stays good when the node reboots.
func (a *Agent) Local() grpc.ClientConnInterface { return local{a} }

type local struct{ agent *Agent }

func (l local) Invoke(ctx context.Context, method string, request, response any, opts ...grpc.CallOption) error {
	l.agent.mu.RLock()
	connection := l.agent.local
	l.agent.mu.RUnlock()
	if connection == nil {
		return notServed()
	}
	return connection.Invoke(ctx, method, request, response, opts...)
}

func (l local) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	l.agent.mu.RLock()
	connection := l.agent.local
	l.agent.mu.RUnlock()
	return connection.NewStream(ctx, desc, method, opts...) // which fails, also for a nil one
}
