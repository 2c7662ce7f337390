// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics count the connections, slots and waiting calls of all clients together.
type Metrics struct {
	slots       prometheus.Gauge
	queued      prometheus.Gauge
	connections prometheus.Gauge
	dropped     prometheus.Counter
}

// NewMetrics returns metrics in a registry; nil: in none.
func NewMetrics(in prometheus.Registerer) *Metrics {
	with := promauto.With(in)
	return &Metrics{
		slots: with.NewGauge(prometheus.GaugeOpts{
			Name: "csi_proxy_operation_slots_in_use",
			Help: "API calls that run, and those whose callers gave up while their operations go on.",
		}),
		queued: with.NewGauge(prometheus.GaugeOpts{
			Name: "csi_proxy_calls_queued",
			Help: "API calls that wait for a slot, as their client or all together have too many.",
		}),
		connections: with.NewGauge(prometheus.GaugeOpts{
			Name: "csi_proxy_connections",
			Help: "Open connections of the API's endpoints.",
		}),
		dropped: with.NewCounter(prometheus.CounterOpts{
			Name: "csi_proxy_connections_dropped_total",
			Help: "Connections that were closed because their process, or all together, had too many.",
		}),
	}
}
