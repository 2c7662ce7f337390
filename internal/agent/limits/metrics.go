// SPDX-License-Identifier: Apache-2.0

package limits

import "github.com/prometheus/client_golang/prometheus"

// Metrics count the connections, slots and waiting calls of all clients together.
type Metrics struct {
	slots       prometheus.Gauge
	queued      prometheus.Gauge
	connections prometheus.Gauge
	dropped     prometheus.Counter
}

// NewMetrics returns metrics that count nothing yet.
func NewMetrics() *Metrics {
	return &Metrics{
		slots: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "csi_proxy_operation_slots_in_use",
			Help: "API calls that run, and those whose callers gave up while their operations go on.",
		}),
		queued: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "csi_proxy_calls_queued",
			Help: "API calls that wait for a slot, as their client or all together have too many.",
		}),
		connections: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "csi_proxy_connections",
			Help: "Open connections of the API's endpoints.",
		}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "csi_proxy_connections_dropped_total",
			Help: "Connections that were closed because their process, or all together, had too many.",
		}),
	}
}

// Collectors returns the collectors, for a registry.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.slots, m.queued, m.connections, m.dropped}
}
