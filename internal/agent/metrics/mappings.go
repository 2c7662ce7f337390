// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
)

const (
	mappingsTimeout = 2 * time.Second  // how long a scrape waits for Windows; Prometheus itself waits ten seconds
	mappingsMaxAge  = 15 * time.Second // how long a count is reused: several scrapers cost no more than one
)

// mappings counts on request the node's SMB global mappings. While they cannot be read, they are left out rather than
// shown with an old count.
type mappings struct {
	cached  cachedRead[map[string]int] // by the status in words, of which there are seven, and "unknown"
	count   *prometheus.Desc
	success *prometheus.Desc
	log     klog.Logger

	failing atomic.Bool // left out of the last scrape
}

var errNotServed = errors.New("the node is rebooting or the agent is stopping")

// newMappings returns the counts of the current node. The function returns nil while there is none.
func newMappings(current func() *node.Node, log klog.Logger) *mappings {
	return &mappings{
		count: prometheus.NewDesc("csi_proxy_smb_global_mappings", "SMB global mappings, by status.",
			[]string{"status"}, nil),
		success: prometheus.NewDesc("csi_proxy_collect_success",
			"Whether this scrape has the counts of a collector: smb.", []string{"collector"}, nil),
		log: log,
		cached: cachedRead[map[string]int]{timeout: mappingsTimeout, maxAge: mappingsMaxAge, read: func() (map[string]int, error) {
			n := current()
			if n == nil {
				return nil, errNotServed
			}
			// Not the scrape's context: it would abandon a read that hangs, and the next scrape would begin another.
			all, err := n.SMB.Mappings(klog.NewContext(context.Background(), log))
			counts := map[string]int{"OK": 0}
			for _, one := range all {
				counts[one.GetStatus()]++
			}
			return counts, err
		}},
	}
}

// collect is a collector. It returns within mappingsTimeout.
func (m *mappings) collect(to chan<- prometheus.Metric) {
	counts, late, err := m.cached.get(context.Background())
	if late {
		err = errors.New("no answer from Windows in time")
	}
	m.note(err)
	to <- gauge(m.success, err == nil, "smb")
	if err != nil {
		return
	}
	for status, count := range counts {
		to <- prometheus.MustNewConstMetric(m.count, prometheus.GaugeValue, float64(count), status)
	}
}

// note logs when the mappings begin to be left out, and when they are there again.
func (m *mappings) note(err error) {
	switch was := m.failing.Swap(err != nil); {
	case was == (err != nil):
	case was:
		m.log.Info("The metrics have the SMB mappings again")
	default:
		m.log.Info("The metrics lack the SMB mappings", "err", err)
	}
}
