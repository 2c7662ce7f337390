// SPDX-License-Identifier: Apache-2.0

package server

import (
	"path"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/limits"
)

// Metrics counts the calls of one agent, and is a prometheus.Collector. The nil value counts nothing. Its labels are
// the names of the methods that are served, so callers cannot add any.
type Metrics struct {
	calls    *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight *prometheus.GaugeVec
	clients  *limits.Metrics
}

// NewMetrics returns metrics without calls.
func NewMetrics() *Metrics {
	labels := []string{"group", "version", "method"}
	return &Metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "csi_proxy_calls_total",
			Help: "API calls that ended, by API group, version, method and gRPC code.",
		}, append(labels, "code")),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "csi_proxy_call_duration_seconds",
			Help:    "How long API calls took.",
			Buckets: []float64{.001, .005, .01, .05, .1, .5, 1, 5, 15, 30, 60, 120},
		}, labels),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "csi_proxy_calls_in_flight",
			Help: "API calls that have not been answered.",
		}, labels),
		clients: limits.NewMetrics(),
	}
}

// all returns the collectors.
func (m *Metrics) all() []prometheus.Collector {
	return append(m.clients.Collectors(), m.calls, m.seconds, m.inFlight)
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	for _, c := range m.all() {
		c.Collect(to)
	}
}

// begin counts a call that begins, and returns the function that counts its end. Health checks, and calls of endpoints
// that are not of the versioned API, are not counted.
func (m *Metrics) begin(e Endpoint, method string) (end func(codes.Code, time.Duration)) {
	if m == nil || e.Group == "" || isHealth(method) {
		return func(codes.Code, time.Duration) {}
	}
	labels := []string{e.Group, e.Version, path.Base(method)}
	m.inFlight.WithLabelValues(labels...).Inc()
	return func(code codes.Code, took time.Duration) {
		m.inFlight.WithLabelValues(labels...).Dec()
		m.seconds.WithLabelValues(labels...).Observe(took.Seconds())
		m.calls.WithLabelValues(slices.Concat(labels, []string{code.String()})...).Inc()
	}
}

// ofClients returns the metrics of the clients' connections and calls; nil when nothing is counted.
func (m *Metrics) ofClients() *limits.Metrics {
	if m == nil {
		return nil
	}
	return m.clients
}
