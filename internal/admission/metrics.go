// SPDX-License-Identifier: Apache-2.0

package admission

import "github.com/prometheus/client_golang/prometheus"

// Metrics count the connections and calls of all clients together.
type Metrics struct {
	places      prometheus.Gauge
	left        prometheus.Gauge
	queued      prometheus.Gauge
	connections prometheus.Gauge
	dropped     prometheus.Counter
}

// NewMetrics returns metrics that count nothing yet.
func NewMetrics() *Metrics {
	return &Metrics{
		places: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "csi_proxy_call_places_taken",
			Help: "API calls that run, and those whose callers gave up while what they began goes on.",
		}),
		left: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "csi_proxy_call_places_left_behind",
			Help: "Places of calls that are over while what they began goes on: their callers gave up, or their process ended.",
		}),
		queued: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "csi_proxy_calls_queued",
			Help: "API calls that wait for their turn, as their client or all together have too many running.",
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
	return []prometheus.Collector{m.places, m.left, m.queued, m.connections, m.dropped}
}
