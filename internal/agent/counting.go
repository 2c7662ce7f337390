// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/admin"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/metrics"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
)

// count sets up the counting, if Config asks for it.
func (a *Agent) count() {
	if !a.config.Metrics {
		return
	}
	m := metrics.New(metrics.Watched{
		Node: func() *node.Node {
			n, _ := a.Node()
			return n
		},
		Endpoints: a.endpointStates,
		Failed:    func() error { return context.Cause(a.failed) },
	}, a.config.KernelHistograms, a.config.Server.Logger)
	a.metrics = m
	a.config.Server.Metrics, a.config.Node.Observer = m.Calls, m.Operations.Observe
	a.config.Node.Interceptor = kernel.Chain(m.Kernel.Intercept, a.config.Node.Interceptor)
}

// Metrics returns the metrics and the health of the agent, nil unless Config asks for them.
func (a *Agent) Metrics() *metrics.Metrics { return a.metrics }

// endpointStates returns the endpoints that should be served, even while the node reboots, and the admin endpoint.
func (a *Agent) endpointStates() []metrics.Endpoint {
	api := a.API()
	var states []metrics.Endpoint
	for _, e := range a.config.APIs.Apply(apis.All(&node.Node{})) {
		states = append(states, metrics.Endpoint{Name: e.Name, Up: api != nil && api.Accepts(e.Name)})
	}
	return append(states, metrics.Endpoint{Name: admin.EndpointName, Up: a.admin.Accepts(admin.EndpointName)})
}
