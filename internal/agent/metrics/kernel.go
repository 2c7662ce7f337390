// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"io"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/running"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// stuckAfter is how long a kernel call may run before it counts as stuck. Formatting and scanning for devices take
// seconds; a call that takes longer than this waits for hardware or a server that does not answer.
const stuckAfter = 30 * time.Second

// KernelCalls counts and times kernel calls and keeps track of running ones. Its Intercept is a kernel.Interceptor.
type KernelCalls struct {
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec // registered on its own, or not: it is many series
	running *prometheus.Desc
	oldest  *prometheus.Desc
	stuck   *prometheus.Desc

	mu        sync.Mutex
	functions map[kernelFunction]*running.Set[struct{}] // running calls of each
}

// kernelFunction is the labels of a kernel call.
type kernelFunction struct{ name, controlCode string }

// NewKernelCalls returns metrics without calls.
func NewKernelCalls() *KernelCalls {
	labels := []string{"function", "control_code"}
	return &KernelCalls{
		functions: map[kernelFunction]*running.Set[struct{}]{},
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "csi_proxy_kernel_calls_total",
			Help: "Kernel calls that ended, by function, control code of DeviceIoControl, and Win32 code.",
		}, append(labels, "code")),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "csi_proxy_kernel_call_duration_seconds",
			Help:    "How long kernel calls took.",
			Buckets: []float64{.0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5, 30, 120},
		}, labels),
		running: prometheus.NewDesc("csi_proxy_kernel_calls_running", "Kernel calls that have not ended.", labels, nil),
		oldest: prometheus.NewDesc("csi_proxy_kernel_call_oldest_seconds",
			"For how long the oldest running kernel call has been running; 0 when none is.", labels, nil),
		stuck: prometheus.NewDesc("csi_proxy_kernel_calls_stuck",
			"Kernel calls that have been running for more than 30 seconds.", labels, nil),
	}
}

// Intercept is the kernel.Interceptor.
func (k *KernelCalls) Intercept(_ context.Context, call kernel.Call, do func() error) error {
	f := functionOf(call)
	runs := k.runningCalls(f).Add(struct{}{})
	err := errPanic
	defer func() {
		runs.Remove()
		k.seconds.WithLabelValues(f.name, f.controlCode).Observe(time.Since(runs.Since).Seconds())
		k.calls.WithLabelValues(f.name, f.controlCode, codeName(err)).Inc()
	}()
	err = do()
	return err
}

// errPanic is the outcome of a call that panicked.
var errPanic = errors.New("panic")

// functionOf returns the labels of a call.
func functionOf(call kernel.Call) kernelFunction {
	f := kernelFunction{name: call.Function}
	if call.Function == "DeviceIoControl" { // the codes of other functions are only parameters
		f.controlCode = win32.ControlCodeName(call.Code)
		if strings.HasPrefix(f.controlCode, "0x") { // a code without a name; all that we use have one
			f.controlCode = otherLabel
		}
	}
	return f
}

// runningCalls returns the running calls of a function.
func (k *KernelCalls) runningCalls(f kernelFunction) *running.Set[struct{}] {
	k.mu.Lock()
	defer k.mu.Unlock()
	calls := k.functions[f]
	if calls == nil {
		calls = &running.Set[struct{}]{}
		k.functions[f] = calls
		k.calls.WithLabelValues(f.name, f.controlCode, codeName(nil)) // so that it exists as 0
	}
	return calls
}

// otherLabel stands for codes without a name in our tables.
const otherLabel = "other"

// codeName returns the label of a call's outcome.
func codeName(err error) string {
	if err == nil {
		return "OK"
	}
	if errors.Is(err, io.EOF) {
		return "EOF"
	}
	if code, ok := errors.AsType[win32.Errno](err); ok && code.Name() != "" {
		return code.Name()
	}
	return otherLabel
}

// collect is a collector.
func (k *KernelCalls) collect(to chan<- prometheus.Metric) {
	k.calls.Collect(to)
	k.mu.Lock()
	functions := maps.Clone(k.functions)
	k.mu.Unlock()
	for f, calls := range functions {
		var count, oldest, stuck float64
		calls.Each(func(since time.Time, _ *struct{}) {
			age := time.Since(since)
			count, oldest = count+1, max(oldest, age.Seconds())
			if age > stuckAfter {
				stuck++
			}
		})
		for desc, value := range map[*prometheus.Desc]float64{k.running: count, k.stuck: stuck, k.oldest: oldest} {
			to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, f.name, f.controlCode)
		}
	}
}
