// SPDX-License-Identifier: Apache-2.0

package server

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
)

// Metrics counts the calls of one agent, and is a prometheus.Collector. The nil value counts nothing. Its labels are the
// names of the methods that are served, so callers have no part in them.
type Metrics struct {
	calls    *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight *prometheus.GaugeVec

	// Of all endpoints together.
	places      prometheus.Gauge
	queued      prometheus.Gauge
	connections prometheus.Gauge
	dropped     prometheus.Counter
}

// NewMetrics counts nothing yet.
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
		places: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "csi_proxy_call_places_taken",
			Help: "API calls that run, and those whose callers gave up while what they began goes on.",
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

// all are the collectors.
func (m *Metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.calls, m.seconds, m.inFlight, m.places, m.queued, m.connections, m.dropped}
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

// methodMetrics are what counts the calls of one method. The nil value counts nothing.
type methodMetrics struct {
	calls    *prometheus.CounterVec // by code
	ok       prometheus.Counter     // looked up once, since most calls succeed
	seconds  prometheus.Observer
	inFlight prometheus.Gauge
}

// methods are what counts the calls of an endpoint, by the methods' full paths. A method's first call makes its.
type methods map[string]func() *methodMetrics

// of returns what counts the calls of an endpoint. What is not in its tables, such as health checks, is not counted.
func (m *Metrics) of(e Endpoint) methods {
	all := methods{}
	if m == nil || e.Group == "" {
		return all
	}
	for _, service := range e.Services {
		for _, method := range service.Methods {
			all[service.path(method)] = sync.OnceValue(func() *methodMetrics {
				labels := prometheus.Labels{"group": e.Group, "version": e.Version, "method": method.Name}
				calls := m.calls.MustCurryWith(labels)
				return &methodMetrics{
					calls: calls, ok: calls.WithLabelValues(codes.OK.String()),
					seconds: m.seconds.With(labels), inFlight: m.inFlight.With(labels),
				}
			})
		}
	}
	return all
}

// begin counts a call that begins, and returns what counts its end.
func (all methods) begin(path string) *methodMetrics {
	first := all[path]
	if first == nil {
		return nil
	}
	m := first()
	m.inFlight.Inc()
	return m
}

// end counts a call that is over.
func (m *methodMetrics) end(code codes.Code, took time.Duration) {
	if m == nil {
		return
	}
	m.inFlight.Dec()
	m.seconds.Observe(took.Seconds())
	if code == codes.OK {
		m.ok.Inc()
	} else {
		m.calls.WithLabelValues(code.String()).Inc()
	}
}
