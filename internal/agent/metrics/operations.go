// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
)

// Operations counts the node's operations. These are fewer than the calls, as identical calls share one operation, and
// one may go on after its callers gave up. Its Observe is a operation.Observer.
type Operations struct {
	waiting, running *prometheus.GaugeVec
	joined, expired  *prometheus.CounterVec
}

// NewOperations returns metrics in a registry.
func NewOperations(in prometheus.Registerer) *Operations {
	with := promauto.With(in)
	labels := []string{"operation"}
	return &Operations{
		waiting: with.NewGaugeVec(prometheus.GaugeOpts{
			Name: "csi_proxy_operations_waiting",
			Help: "Operations that wait for others on the same disk, volume or path.",
		}, labels),
		running: with.NewGaugeVec(prometheus.GaugeOpts{
			Name: "csi_proxy_operations_running",
			Help: "Operations that have begun and not ended, also those that no caller waits for any more.",
		}, labels),
		joined: with.NewCounterVec(prometheus.CounterOpts{
			Name: "csi_proxy_operations_joined_total",
			Help: "Calls that waited for an identical operation under way instead of having one of their own.",
		}, labels),
		expired: with.NewCounterVec(prometheus.CounterOpts{
			Name: "csi_proxy_operations_expired_total",
			Help: "Calls whose deadline ended, or that were cancelled, before their operation was over.",
		}, labels),
	}
}

// Observe is the operation.Observer.
func (o *Operations) Observe(name string, event operation.Event) {
	waiting, running := o.waiting.WithLabelValues(name), o.running.WithLabelValues(name)
	// they exist as 0 from the first event on
	joined, expired := o.joined.WithLabelValues(name), o.expired.WithLabelValues(name)
	switch event {
	case operation.Queued:
		waiting.Inc()
	case operation.Begun:
		waiting.Dec()
		running.Inc()
	case operation.Ended:
		running.Dec()
	case operation.Dropped:
		waiting.Dec()
	case operation.Joined:
		joined.Inc()
	case operation.GaveUp:
		expired.Inc()
	}
}
