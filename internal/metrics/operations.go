// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubernetes-csi/csi-proxy/internal/node"
)

// Operations counts what the node does, which is less than what it is asked for: callers that ask for the same share one
// operation, and it may go on when they have given up. Its Observe is a node.Observer.
type Operations struct {
	waiting, running *prometheus.GaugeVec
	joined, expired  *prometheus.CounterVec

	mu    sync.Mutex // held while known is replaced
	known atomic.Pointer[map[string]*operation]
}

// operation is what counts one operation of the node.
type operation struct {
	waiting, running prometheus.Gauge
	joined, expired  prometheus.Counter
}

// NewOperations counts nothing yet.
func NewOperations() *Operations {
	labels := []string{"operation"}
	o := &Operations{
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "csi_proxy_operations_waiting",
			Help: "Operations that wait for others on the same disk, volume or path.",
		}, labels),
		running: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "csi_proxy_operations_running",
			Help: "Operations that have begun and not ended, also those that no caller waits for any more.",
		}, labels),
		joined: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "csi_proxy_operations_joined_total",
			Help: "Calls that waited for an identical operation under way instead of having one of their own.",
		}, labels),
		expired: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "csi_proxy_operations_expired_total",
			Help: "Calls whose deadline ended, or that were cancelled, before their operation was over.",
		}, labels),
	}
	o.known.Store(&map[string]*operation{})
	return o
}

// Observe is the node.Observer.
func (o *Operations) Observe(name string, event node.Event) {
	op := o.of(name)
	switch event {
	case node.Queued:
		op.waiting.Inc()
	case node.Begun:
		op.waiting.Dec()
		op.running.Inc()
	case node.Ended:
		op.running.Dec()
	case node.Dropped:
		op.waiting.Dec()
	case node.Joined:
		op.joined.Inc()
	case node.GaveUp:
		op.expired.Inc()
	}
}

// of finds what counts an operation. Its first event makes it.
func (o *Operations) of(name string) *operation {
	if op := (*o.known.Load())[name]; op != nil {
		return op
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	known := *o.known.Load()
	if op := known[name]; op != nil {
		return op
	}
	op := &operation{
		waiting: o.waiting.WithLabelValues(name), running: o.running.WithLabelValues(name),
		joined: o.joined.WithLabelValues(name), expired: o.expired.WithLabelValues(name),
	}
	known = maps.Clone(known)
	known[name] = op
	o.known.Store(&known)
	return op
}

// Describe implements prometheus.Collector.
func (o *Operations) Describe(to chan<- *prometheus.Desc) {
	for _, c := range []prometheus.Collector{o.waiting, o.running, o.joined, o.expired} {
		c.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (o *Operations) Collect(to chan<- prometheus.Metric) {
	for _, c := range []prometheus.Collector{o.waiting, o.running, o.joined, o.expired} {
		c.Collect(to)
	}
}
