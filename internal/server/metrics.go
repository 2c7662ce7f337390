// SPDX-License-Identifier: Apache-2.0

package server

import (
	"path"
	"sync"
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

// of returns what counts the calls of an endpoint. The counters of a method that succeeds are looked up once.
func (m *Metrics) of(e Endpoint) func(method string, code codes.Code, took time.Duration) {
	if m == nil || e.Group == "" {
		return func(string, codes.Code, time.Duration) {}
	}
	known := map[string]*methodMetrics{} // of health, which has no row, nothing is kept
	for _, service := range e.Services {
		for _, method := range service.Methods {
			known[service.path(method)] = &methodMetrics{}
		}
	}
	return func(method string, code codes.Code, took time.Duration) {
		k := known[method]
		if k == nil {
			k = &methodMetrics{}
		}
		k.first.Do(func() {
			k.seconds = m.seconds.WithLabelValues(e.Group, e.Version, path.Base(method))
		})
		k.seconds.Observe(took.Seconds())
		if code != codes.OK {
			m.calls.WithLabelValues(e.Group, e.Version, path.Base(method), code.String()).Inc()
			return
		}
		k.success.Do(func() { k.ok = m.calls.WithLabelValues(e.Group, e.Version, path.Base(method), code.String()) })
		k.ok.Inc()
	}
}

// methodMetrics are what counts the calls of one method, from its first call on.
type methodMetrics struct {
	first, success sync.Once
	seconds        prometheus.Observer
	ok             prometheus.Counter
}
