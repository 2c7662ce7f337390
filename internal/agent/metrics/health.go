// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"
)

const (
	probeTimeout = 750 * time.Millisecond // how long a health check waits for Windows: kubelet waits a second
	probeMaxAge  = 5 * time.Second        // how long an answer is reused: a storm of checks asks Windows no more often
)

// health is the health of the agent, for probes and as metrics.
type health struct {
	watched Watched
	kernel  cachedRead[struct{}]
	asking  atomic.Pointer[question] // the last question to the kernel
	log     klog.Logger

	answers *prometheus.Desc
	up      *prometheus.Desc

	notReady atomic.Bool // at the last check
}

// question is a call of a kernel function, and its time.
type question struct {
	function string
	at       time.Time
}

func newHealth(w Watched, log klog.Logger) *health {
	h := &health{
		watched: w, log: log,
		answers: prometheus.NewDesc("csi_proxy_kernel_up",
			"Whether Windows answers the health check's questions in time.", nil, nil),
		up: prometheus.NewDesc("csi_proxy_endpoint_up", "Whether an endpoint accepts calls.", []string{"endpoint"}, nil),
	}
	h.kernel = cachedRead[struct{}]{read: h.probe, timeout: probeTimeout, maxAge: probeMaxAge}
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

// askKernel asks Windows, or returns its answer if that is recent.
func (h *health) askKernel(ctx context.Context) error {
	_, err := h.kernel.get(ctx)
	if !errors.Is(err, errLate) {
		return err
	}
	q := h.asking.Load()
	if q == nil {
		return errors.New("it was not asked yet")
	}
	return fmt.Errorf("%s has not returned since %s, for %v", q.function, q.at.UTC().Format(time.RFC3339),
		time.Since(q.at).Round(time.Millisecond))
}

// Live reports whether the process works, as far as it can by itself: no restart of it would cure Windows.
func (h *health) Live(context.Context) (ok bool, report string) {
	if err := h.watched.Failed(); err != nil {
		return false, "not ok\n" + err.Error() + "\n"
	}
	return true, "ok\n"
}

// Ready reports whether calls would be served: every endpoint accepts, and Windows answers.
func (h *health) Ready(ctx context.Context) (ok bool, report string) {
	var down []string
	for _, e := range h.watched.Endpoints() {
		if !e.Up {
			down = append(down, e.Name)
		}
	}
	lines := []string{"endpoints: all accept", "kernel: answers"}
	if len(down) > 0 {
		lines[0] = "endpoints: not accepting: " + strings.Join(down, ", ")
	}
	err := h.askKernel(ctx)
	if err != nil {
		lines[1] = "kernel: " + err.Error()
	}
	ok = err == nil && len(down) == 0
	h.note(ctx, ok, lines)
	if ok {
		return true, "ok\n" + strings.Join(lines, "\n") + "\n"
	}
	return false, "not ready\n" + strings.Join(lines, "\n") + "\n"
}

// note logs when the agent becomes ready and when it stops being ready, except for a check whose caller hung up.
func (h *health) note(ctx context.Context, ready bool, lines []string) {
	switch {
	case ctx.Err() != nil || h.notReady.Swap(!ready) == !ready:
	case ready:
		h.log.Info("The agent is ready again")
	default:
		h.log.Info("The agent is not ready", "why", strings.Join(lines, "; "))
	}
}

// collect is a collector. It returns within probeTimeout.
func (h *health) collect(to chan<- prometheus.Metric) {
	to <- gauge(h.answers, h.askKernel(context.Background()) == nil)
	for _, e := range h.watched.Endpoints() {
		to <- gauge(h.up, e.Up, e.Name)
	}
}

// gauge returns a gauge that is 1 or 0.
func gauge(desc *prometheus.Desc, yes bool, labels ...string) prometheus.Metric {
	value := 0.0
	if yes {
		value = 1
	}
	return prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
}
