// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"
)

const (
	probePatience = 750 * time.Millisecond // how long a health check waits for Windows: kubelet's own patience is a second
	probeFresh    = 5 * time.Second        // how long an answer is good for: a storm of checks asks Windows no more often
)

// health tells how the agent is.
type health struct {
	watched Watched
	kernel  reading[struct{}]
	asking  atomic.Pointer[question] // what the kernel was asked last
	log     klog.Logger

	answers *prometheus.Desc
	up      *prometheus.Desc

	mu    sync.Mutex
	ready bool // as it was found last
}

// question is a kernel function that was called, and when.
type question struct {
	function string
	at       time.Time
}

func newHealth(w Watched, log klog.Logger) *health {
	h := &health{
		watched: w, log: log, ready: true,
		answers: prometheus.NewDesc("csi_proxy_kernel_up", "Whether Windows answers the health check's questions in time.", nil, nil),
		up:      prometheus.NewDesc("csi_proxy_endpoint_up", "Whether an endpoint accepts calls.", []string{"endpoint"}, nil),
	}
	h.kernel = reading[struct{}]{read: h.probe, patience: probePatience, fresh: probeFresh}
	return h
}

func (h *health) probe() (struct{}, error) {
	n := h.watched.Node()
	if n == nil {
		return struct{}{}, errNotServed
	}
	h.asking.Store(&question{function: "DiskInterfaces", at: time.Now()})
	return struct{}{}, n.Probe(klog.NewContext(context.Background(), h.log), func(function string) {
		h.asking.Store(&question{function: function, at: time.Now()})
	})
}

// askKernel asks Windows, or remembers what it answered lately.
func (h *health) askKernel(ctx context.Context) error {
	_, late, err := h.kernel.get(ctx)
	if !late {
		return err
	}
	q := h.asking.Load()
	if q == nil {
		return errors.New("it was not asked yet")
	}
	return fmt.Errorf("%s has not returned since %s, for %v", q.function, q.at.UTC().Format(time.RFC3339), time.Since(q.at).Round(time.Millisecond))
}

// Live tells whether the process does its work as far as that is in its own hands: it does not look at Windows, since
// starting the agent anew does not cure that.
func (h *health) Live(context.Context) (ok bool, report string) {
	if err := h.watched.Failed(); err != nil {
		return false, "not ok\n" + err.Error() + "\n"
	}
	return true, "ok\n"
}

// Ready tells whether calls would be served: every endpoint accepts, and Windows answers.
func (h *health) Ready(ctx context.Context) (ok bool, report string) {
	var down []string
	endpoints := h.watched.Endpoints()
	for _, e := range endpoints {
		if !e.Up {
			down = append(down, e.Name)
		}
	}
	lines := []string{fmt.Sprintf("endpoints: %d accept", len(endpoints)-len(down))}
	if len(down) > 0 {
		lines[0] = fmt.Sprintf("endpoints: %d of %d do not accept: %s", len(down), len(endpoints), strings.Join(down, ", "))
	}
	kernel := "kernel: answers"
	err := h.askKernel(ctx)
	if err != nil {
		kernel = "kernel: " + err.Error()
	}
	lines = append(lines, kernel)
	ok = err == nil && len(down) == 0
	h.note(ctx, ok, lines)
	if ok {
		return true, "ok\n" + strings.Join(lines, "\n") + "\n"
	}
	return false, "not ready\n" + strings.Join(lines, "\n") + "\n"
}

// note logs when the agent becomes ready and when it stops being so. Who hung up meanwhile, found nothing out.
func (h *health) note(ctx context.Context, ready bool, lines []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ready == h.ready || ctx.Err() != nil {
		return
	}
	h.ready = ready
	if ready {
		h.log.Info("The agent is ready again")
	} else {
		h.log.Info("The agent is not ready", "why", strings.Join(lines, "; "))
	}
}

// Describe implements prometheus.Collector.
func (h *health) Describe(to chan<- *prometheus.Desc) {
	to <- h.answers
	to <- h.up
}

// Collect implements prometheus.Collector. It returns within probePatience.
func (h *health) Collect(to chan<- prometheus.Metric) {
	to <- gauge(h.answers, h.askKernel(context.Background()) == nil)
	for _, e := range h.watched.Endpoints() {
		to <- gauge(h.up, e.Up, e.Name)
	}
}

// gauge is 1 for what is so, else 0.
func gauge(desc *prometheus.Desc, so bool, labels ...string) prometheus.Metric {
	value := 0.0
	if so {
		value = 1
	}
	return prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
}
