// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"io"
	"maps"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// stuckAfter is how long a kernel call may run before it counts as stuck. Formatting and scanning for devices take
// seconds; what takes longer than this waits for hardware or a server that does not answer.
const stuckAfter = 30 * time.Second

// KernelCalls counts and times kernel calls, and knows which ones are running. Its Intercept is a kernel.Interceptor.
type KernelCalls struct {
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	running *prometheus.Desc
	oldest  *prometheus.Desc
	stuck   *prometheus.Desc

	mu    sync.Mutex // held while known is replaced
	known atomic.Pointer[map[kernelFunction]*functionCalls]
}

// kernelFunction is what kernel calls are told apart by.
type kernelFunction struct {
	name string
	code uint32 // of DeviceIoControl; 0 of the others, whose codes are only parameters
}

// functionCalls are the calls of one function.
type functionCalls struct {
	function, controlCode string // the labels
	succeeded             prometheus.Counter
	seconds               prometheus.Observer

	mu             sync.Mutex
	count          int
	oldest, newest *runningCall // a list, in the order in which they began
	free           *runningCall // for later calls
}

// runningCall is a call that has not ended.
type runningCall struct {
	begin        time.Time
	older, newer *runningCall
}

// NewKernelCalls counts nothing yet.
func NewKernelCalls() *KernelCalls {
	labels := []string{"function", "control_code"}
	k := &KernelCalls{
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
		oldest:  prometheus.NewDesc("csi_proxy_kernel_call_oldest_seconds", "For how long the oldest running kernel call has been running; 0 when none is.", labels, nil),
		stuck:   prometheus.NewDesc("csi_proxy_kernel_calls_stuck", "Kernel calls that have been running for more than 30 seconds.", labels, nil),
	}
	k.known.Store(&map[kernelFunction]*functionCalls{})
	return k
}

// Intercept is the kernel.Interceptor. Of a function that has been called before, a call allocates nothing.
func (k *KernelCalls) Intercept(_ context.Context, call kernel.Call, do func() error) error {
	f := k.of(call)
	begin := time.Now()
	running := f.begin(begin)
	err := errPanic
	defer func() {
		f.end(running)
		f.seconds.Observe(time.Since(begin).Seconds())
		if err == nil {
			f.succeeded.Inc()
		} else {
			k.calls.WithLabelValues(f.function, f.controlCode, codeName(err)).Inc()
		}
	}()
	err = do()
	return err
}

// errPanic is the outcome of a call that panicked.
var errPanic = errors.New("panic")

// of finds what counts a call. A function's first call makes it.
func (k *KernelCalls) of(call kernel.Call) *functionCalls {
	key := kernelFunction{name: call.Function}
	if call.Function == "DeviceIoControl" {
		key.code = call.Code // ours are a few dozen; no caller chooses one
	}
	if f := (*k.known.Load())[key]; f != nil {
		return f
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	known := *k.known.Load()
	if f := known[key]; f != nil {
		return f
	}
	f := &functionCalls{function: key.name}
	if key.code != 0 {
		f.controlCode = win32.ControlCodeName(key.code)
	}
	if strings.HasPrefix(f.controlCode, "0x") { // one without a name, as none of ours is: all of them are one function
		key.code, f.controlCode = math.MaxUint32, otherLabel
		if others := known[key]; others != nil {
			return others
		}
	}
	f.succeeded = k.calls.WithLabelValues(f.function, f.controlCode, codeName(nil))
	f.seconds = k.seconds.WithLabelValues(f.function, f.controlCode)
	known = maps.Clone(known)
	known[key] = f
	k.known.Store(&known)
	return f
}

// otherLabel stands for everything that has no name in our tables.
const otherLabel = "other"

// codeName is the label of a call's outcome.
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

func (f *functionCalls) begin(at time.Time) *runningCall {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.free
	if r == nil {
		r = &runningCall{}
	} else {
		f.free = r.newer
	}
	*r = runningCall{begin: at, older: f.newest}
	if f.newest == nil {
		f.oldest = r
	} else {
		f.newest.newer = r
	}
	f.newest = r
	f.count++
	return r
}

func (f *functionCalls) end(r *runningCall) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.older == nil {
		f.oldest = r.newer
	} else {
		r.older.newer = r.newer
	}
	if r.newer == nil {
		f.newest = r.older
	} else {
		r.newer.older = r.older
	}
	*r = runningCall{newer: f.free}
	f.free = r
	f.count--
}

// now tells how many calls run, how many of those are stuck, and for how long the oldest has been running.
func (f *functionCalls) now() (running, stuck int, oldest time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.oldest != nil {
		oldest = max(0, time.Since(f.oldest.begin))
	}
	for r := f.oldest; r != nil && time.Since(r.begin) > stuckAfter; r = r.newer {
		stuck++
	}
	return f.count, stuck, oldest
}

// Describe implements prometheus.Collector.
func (k *KernelCalls) Describe(to chan<- *prometheus.Desc) {
	k.calls.Describe(to)
	k.seconds.Describe(to)
	for _, d := range []*prometheus.Desc{k.running, k.oldest, k.stuck} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (k *KernelCalls) Collect(to chan<- prometheus.Metric) {
	k.calls.Collect(to)
	k.seconds.Collect(to)
	for _, f := range *k.known.Load() {
		running, stuck, oldest := f.now()
		for desc, value := range map[*prometheus.Desc]float64{k.running: float64(running), k.stuck: float64(stuck), k.oldest: oldest.Seconds()} {
			to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, f.function, f.controlCode)
		}
	}
}
