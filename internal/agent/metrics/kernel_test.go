// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// want compares metrics, given without their comments.
func want(t *testing.T, k *KernelCalls, name, kind, help string, lines ...string) {
	t.Helper()
	text := "# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n" + strings.Join(lines, "\n") + "\n"
	if err := testutil.CollectAndCompare(collector(k.collect), strings.NewReader(text), name); err != nil {
		t.Error(err)
	}
}

func TestKernelCallsByOutcome(t *testing.T) {
	k := NewKernelCalls()
	call := func(function string, code uint32, err error) {
		t.Helper()
		c := kernel.Call{Function: function, Object: `C:\` + t.Name(), Code: code}
		if got := k.Intercept(t.Context(), c, func() error { return err }); !errors.Is(got, err) {
			t.Errorf("got %v, want %v", got, err)
		}
	}
	failure := func(code win32.Errno) error { return &kernel.Error{Function: "F", Object: "O", Code: code} }
	call("VolumeNames", 0, nil)
	call("VolumeNames", 0, nil)
	call("VolumeNames", 0, failure(win32.ERROR_ACCESS_DENIED))
	call("ReadAt", 0, io.EOF)
	call("ReadAt", 0, errors.New("strange"))
	call("ReadAt", 0, failure(0xE0001234)) // a server or a driver made it up
	call("ReadAt", 0, failure(0xE0001235))
	call("Information", 18, nil) // an information class is not a control code
	call("DeviceIoControl", win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, nil)
	call("DeviceIoControl", 0x123, nil)
	call("DeviceIoControl", 0x124, nil)
	func() {
		defer func() { _ = recover() }()
		_ = k.Intercept(t.Context(), kernel.Call{Function: "Flush"}, func() error { panic("boom") })
	}()
	want(t, k, "csi_proxy_kernel_calls_total", "counter",
		"Kernel calls that ended, by function, control code of DeviceIoControl, and Win32 code.",
		`csi_proxy_kernel_calls_total{code="ERROR_ACCESS_DENIED",control_code="",function="VolumeNames"} 1`,
		`csi_proxy_kernel_calls_total{code="EOF",control_code="",function="ReadAt"} 1`,
		`csi_proxy_kernel_calls_total{code="OK",control_code="",function="Flush"} 0`,
		`csi_proxy_kernel_calls_total{code="OK",control_code="",function="Information"} 1`,
		`csi_proxy_kernel_calls_total{code="OK",control_code="",function="ReadAt"} 0`,
		`csi_proxy_kernel_calls_total{code="OK",control_code="",function="VolumeNames"} 2`,
		`csi_proxy_kernel_calls_total{code="OK",control_code="IOCTL_DISK_GET_DRIVE_LAYOUT_EX",function="DeviceIoControl"} 1`,
		`csi_proxy_kernel_calls_total{code="OK",control_code="other",function="DeviceIoControl"} 2`,
		`csi_proxy_kernel_calls_total{code="other",control_code="",function="Flush"} 1`,
		`csi_proxy_kernel_calls_total{code="other",control_code="",function="ReadAt"} 3`,
	)
	if n := testutil.CollectAndCount(collector(k.collect), "csi_proxy_kernel_calls_running"); n != 6 {
		t.Errorf("there are running calls of %d functions, want 6", n)
	}
}

func TestRunningAndStuckKernelCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := NewKernelCalls()
		begin := func(function string) (end func()) {
			release, ended := make(chan struct{}), make(chan struct{})
			go func() {
				_ = k.Intercept(t.Context(), kernel.Call{Function: function}, func() error { <-release; return nil })
				close(ended)
			}()
			synctest.Wait()
			return func() { close(release); <-ended }
		}
		expect := func(running, stuck, oldest string) {
			t.Helper()
			want(t, k, "csi_proxy_kernel_calls_running", "gauge", "Kernel calls that have not ended.",
				`csi_proxy_kernel_calls_running{control_code="",function="Flush"} `+running)
			want(t, k, "csi_proxy_kernel_calls_stuck", "gauge", "Kernel calls that have been running for more than 30 seconds.",
				`csi_proxy_kernel_calls_stuck{control_code="",function="Flush"} `+stuck)
			want(t, k, "csi_proxy_kernel_call_oldest_seconds", "gauge",
				"For how long the oldest running kernel call has been running; 0 when none is.",
				`csi_proxy_kernel_call_oldest_seconds{control_code="",function="Flush"} `+oldest)
		}
		first := begin("Flush")
		time.Sleep(20 * time.Second)
		second := begin("Flush")
		time.Sleep(5 * time.Second)
		third := begin("Flush")
		expect("3", "0", "25")
		time.Sleep(6 * time.Second)
		expect("3", "1", "31")
		second() // from the middle
		expect("2", "1", "31")
		first()
		expect("1", "0", "6")
		fourth := begin("Flush") // in the place of one that ended
		third()
		expect("1", "0", "0")
		time.Sleep(31 * time.Second)
		expect("1", "1", "31")
		fourth()
		expect("0", "0", "0")
	})
}

// Histograms are most of the series, so they are there only if the operator asks.
func TestKernelHistogramsAreOptional(t *testing.T) {
	for on, want := range map[bool]int{false: 0, true: 1} {
		m := New(Watched{
			Node: func() *node.Node { return nil }, Endpoints: func() []Endpoint { return nil },
		}, on, klog.Background())
		if err := m.Kernel.Intercept(t.Context(), kernel.Call{Function: "Flush"}, func() error { return nil }); err != nil {
			t.Error(err)
		}
		n, err := testutil.GatherAndCount(m.registry, "csi_proxy_kernel_call_duration_seconds")
		if n != want || err != nil {
			t.Errorf("%t: %d functions have a histogram, want %d (%v)", on, n, want, err)
		}
	}
}
