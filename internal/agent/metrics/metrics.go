// SPDX-License-Identifier: Apache-2.0

// Package metrics shows operators a running agent: Prometheus metrics of its calls, its operations and the kernel calls
// below them, counts of what the node has, and health over HTTP. docs/metrics.md lists the metrics.
//
// Labels are names from this program's tables, never what a caller sends, so their number is bounded. A scrape or probe
// waits for Windows for a moment only. One goroutine at a time asks Windows, so probes of a node that hangs add no hung
// threads. Counts are read when they are asked for; while Windows hangs they are missing, because an old count would
// look healthy. Without -metrics-bind-address nothing is counted.
package metrics

import (
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/buildversion"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

// Watched is the agent whose metrics these are. The functions may be called at any time and concurrently.
type Watched struct {
	Node      func() *node.Node // nil while nothing is served
	Endpoints func() []Endpoint
	Failed    func() error // why the agent cannot go on; nil: it can
}

// Endpoint is a pipe or socket that should accept calls.
type Endpoint struct {
	Name string
	Up   bool
}

// Metrics are those of one agent. Each part is to be installed where the calls happen that it counts.
type Metrics struct {
	Calls      *server.Metrics
	Kernel     *KernelCalls
	Operations *Operations

	registry *prometheus.Registry
	scrapes  sync.Mutex // held by the one that gathers
	health   *health
}

// New returns the metrics of an agent and its process: memory, goroutines, build. Kernel histograms are many series.
func New(w Watched, kernelHistograms bool, log klog.Logger) *Metrics {
	r := prometheus.NewRegistry()
	m := &Metrics{
		registry: r, health: newHealth(w, log),
		Calls: server.NewMetrics(r), Kernel: NewKernelCalls(), Operations: NewOperations(r),
	}
	if kernelHistograms {
		r.MustRegister(m.Kernel.seconds)
	}
	r.MustRegister(collector(m.Kernel.collect), collector(m.health.collect),
		collector(newInventory(w.Node, log).collect), buildInfo(),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// A collector describes no metrics, so that registering it asks Windows nothing: prometheus.CollectorFunc would collect
// before the agent has started.
type collector func(chan<- prometheus.Metric)

func (collector) Describe(chan<- *prometheus.Desc) {}

func (c collector) Collect(to chan<- prometheus.Metric) { c(to) }

// buildInfo returns a gauge that is 1 and has the build's version as labels.
func buildInfo() prometheus.Collector {
	version, revision := buildversion.String(), "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "csi_proxy_build_info", Help: "1; the labels say which build of the agent this is.",
		ConstLabels: prometheus.Labels{"version": version, "revision": revision, "go_version": runtime.Version()},
	})
	g.Set(1)
	return g
}
