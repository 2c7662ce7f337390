// SPDX-License-Identifier: Apache-2.0

package server

import (
	"path"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
)

// Metrics counts the calls of one agent. The nil value counts nothing.
type Metrics struct {
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

// NewMetrics registers the counters. It panics when the registry has them already, as two agents cannot share one.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "csi_proxy_calls_total",
			Help: "API calls that ended, by API group, version, method and gRPC code.",
		}, []string{"group", "version", "method", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "csi_proxy_call_duration_seconds",
			Help:    "How long API calls took.",
			Buckets: []float64{.001, .005, .01, .05, .1, .5, 1, 5, 15, 30, 60, 120},
		}, []string{"group", "version", "method"}),
	}
	registry.MustRegister(m.calls, m.seconds)
	return m
}

func (m *Metrics) observe(e Endpoint, method string, code codes.Code, took time.Duration) {
	if m == nil || e.Group == "" {
		return
	}
	m.calls.WithLabelValues(e.Group, e.Version, path.Base(method), code.String()).Inc()
	m.seconds.WithLabelValues(e.Group, e.Version, path.Base(method)).Observe(took.Seconds())
}
