// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubernetes-csi/csi-proxy/internal/node"
)

// places shows which kernel calls wait for a thread, and which keep one for long.
type places struct {
	node          func() *node.Node
	waiting, late *prometheus.Desc
}

func newPlaces(n func() *node.Node) *places {
	labels := []string{"facility"}
	return &places{
		node:    n,
		waiting: prometheus.NewDesc("csi_proxy_kernel_calls_queued", "Kernel calls that wait for a place among those that run.", labels, nil),
		late:    prometheus.NewDesc("csi_proxy_kernel_calls_late", "Kernel calls that have been running for more than a second and have given up their place.", labels, nil),
	}
}

// Describe implements prometheus.Collector.
func (p *places) Describe(to chan<- *prometheus.Desc) { to <- p.waiting; to <- p.late }

// Collect implements prometheus.Collector.
func (p *places) Collect(to chan<- prometheus.Metric) {
	n := p.node()
	if n == nil {
		return
	}
	for f, count := range n.KernelCalls() {
		to <- prometheus.MustNewConstMetric(p.waiting, prometheus.GaugeValue, float64(count.Waiting), f.Name())
		to <- prometheus.MustNewConstMetric(p.late, prometheus.GaugeValue, float64(count.Late), f.Name())
	}
}
