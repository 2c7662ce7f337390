// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/metrics"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// count sets up the metrics, if they are asked for. Otherwise calls pay nothing for them.
func (a *Agent) count() {
	if !a.config.Metrics {
		return
	}
	a.metrics = metrics.New(metrics.Watched{
		Node:      func() *node.Node { _, n := a.serving(); return n },
		Endpoints: a.endpointStates,
		Failed: func() error {
			if err := a.failure.Load(); err != nil {
				return *err
			}
			return nil
		},
	}, a.config.Logger)
	a.config.Interceptor = kernel.Chain(a.metrics.Kernel.Intercept, a.config.Interceptor)
}

// Metrics are the metrics and the health of the agent, nil unless Config asks for them.
func (a *Agent) Metrics() *metrics.Metrics { return a.metrics }

// counters are what the server and the node count with; nil where nothing is counted.
func (a *Agent) counters() (*server.Metrics, node.Observer) {
	if a.metrics == nil {
		return nil, nil
	}
	return a.metrics.Calls, a.metrics.Operations.Observe
}

// endpointStates are the endpoints that should be served, the admin endpoint too.
func (a *Agent) endpointStates() []metrics.Endpoint {
	a.mu.RLock()
	api, names := a.api, a.endpoints
	a.mu.RUnlock()
	states := make([]metrics.Endpoint, 0, len(names)+1)
	for _, name := range names {
		states = append(states, metrics.Endpoint{Name: name, Up: api != nil && api.Accepts(name)})
	}
	return append(states, metrics.Endpoint{Name: AdminEndpoint, Up: a.admin.Accepts(AdminEndpoint)})
}
