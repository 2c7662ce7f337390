// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
)

const (
	inventoryTimeout = 2 * time.Second  // how long a scrape waits for Windows; Prometheus itself waits ten seconds
	inventoryMaxAge  = 15 * time.Second // how long a count is reused: several scrapers cost no more than one
)

// inventory counts on request what the node has. Its parts do not wait for each other: a disk that hangs does not hide
// the shares. A part that cannot be read is left out rather than shown with an old count.
type inventory struct {
	parts   []*inventoryPart
	success *prometheus.Desc
	failed  *prometheus.CounterVec
	log     klog.Logger
}

type inventoryPart struct {
	name   string
	desc   *prometheus.Desc
	cached cachedRead[[]prometheus.Metric]

	failing atomic.Bool // left out of the last scrape
}

var errNotServed = errors.New("the node is rebooting or the agent is stopping")

// newInventory returns the inventory of the current node. The function returns nil while there is none.
func newInventory(current func() *node.Node, log klog.Logger) *inventory {
	i := &inventory{
		success: prometheus.NewDesc("csi_proxy_collect_success",
			"Whether this scrape has the counts of a collector: disks, volumes, smb or iscsi.", []string{"collector"}, nil),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "csi_proxy_collect_errors_total",
			Help: "Scrapes that lack the counts of a collector because Windows failed or did not answer in time.",
		}, []string{"collector"}),
		log: log,
	}
	for name, part := range map[string]struct {
		desc *prometheus.Desc
		read count
	}{
		"disks": {prometheus.NewDesc("csi_proxy_disks", "Disks that are present.", []string{"online", "read_only"}, nil),
			countDisks},
		"volumes": {prometheus.NewDesc("csi_proxy_volumes", "Volumes that are present.", []string{"mounted"}, nil),
			countVolumes},
		"smb": {prometheus.NewDesc("csi_proxy_smb_global_mappings", "SMB global mappings, by status.",
			[]string{"status"}, nil), countMappings},
		"iscsi": {prometheus.NewDesc("csi_proxy_iscsi_sessions", "iSCSI sessions; none while the service MSiSCSI does "+
			"not run.", nil, nil), countSessions},
	} {
		i.failed.WithLabelValues(name) // so that it exists as 0
		i.parts = append(i.parts, &inventoryPart{name: name, desc: part.desc, cached: cachedRead[[]prometheus.Metric]{
			timeout: inventoryTimeout, maxAge: inventoryMaxAge,
			read: func() (metrics []prometheus.Metric, err error) {
				n := current()
				if n == nil {
					return nil, errNotServed
				}
				// Not the scrape's context: it would abandon a read that hangs, and the next scrape would begin another.
				err = part.read(klog.NewContext(context.Background(), log), n, func(count int, labels ...string) {
					metrics = append(metrics, prometheus.MustNewConstMetric(part.desc, prometheus.GaugeValue,
						float64(count), labels...))
				})
				return metrics, err
			},
		}})
	}
	return i
}

// count reads one part of the node and calls the function for each gauge, with its labels.
type count func(ctx context.Context, n *node.Node, gauge func(count int, labels ...string)) error

// unknown is the value of a label for what does not answer.
const unknown = "unknown"

func countDisks(ctx context.Context, n *node.Node, gauge func(int, ...string)) error {
	counts, err := n.Disks.Count(ctx)
	for _, online := range []bool{true, false} {
		for _, readOnly := range []bool{true, false} {
			gauge(counts[node.DiskCondition{Online: online, ReadOnly: readOnly}], strconv.FormatBool(online),
				strconv.FormatBool(readOnly))
		}
	}
	gauge(counts[node.DiskCondition{Unknown: true}], unknown, unknown)
	return err
}

func countVolumes(ctx context.Context, n *node.Node, gauge func(int, ...string)) error {
	counts, err := n.Volumes.Count(ctx)
	gauge(counts.Mounted, "true")
	gauge(counts.Unmounted, "false")
	gauge(counts.Unknown, unknown)
	return err
}

// countMappings counts by the status in words, of which there are seven, and "unknown".
func countMappings(ctx context.Context, n *node.Node, gauge func(int, ...string)) error {
	mappings, err := n.SMB.Mappings(ctx)
	counts := map[string]int{"OK": 0}
	for _, m := range mappings {
		counts[m.GetStatus()]++
	}
	for status, count := range counts {
		gauge(count, status)
	}
	return err
}

// countSessions counts none while the iSCSI initiator service is not running, as on most nodes.
func countSessions(ctx context.Context, n *node.Node, gauge func(int, ...string)) error {
	sessions, err := n.ISCSI.Sessions(ctx)
	if sessions != nil {
		gauge(len(sessions))
	}
	return err
}

// collect is a collector. It returns within inventoryTimeout.
func (i *inventory) collect(to chan<- prometheus.Metric) {
	var all sync.WaitGroup
	for _, p := range i.parts {
		all.Go(func() {
			metrics, err := p.cached.get(context.Background())
			i.note(p, err)
			if err == nil {
				for _, m := range metrics {
					to <- m
				}
			}
			to <- gauge(i.success, err == nil, p.name)
		})
	}
	all.Wait()
	i.failed.Collect(to) // last, with the failures of this scrape
}

// note counts a part that is left out, and logs when that begins and ends.
func (i *inventory) note(p *inventoryPart, err error) {
	if err != nil {
		i.failed.WithLabelValues(p.name).Inc()
	}
	switch was := p.failing.Swap(err != nil); {
	case was == (err != nil):
	case was:
		i.log.Info("The metrics have a part of the node again", "collector", p.name)
	default:
		i.log.Info("The metrics lack a part of the node", "collector", p.name, "err", err)
	}
}
