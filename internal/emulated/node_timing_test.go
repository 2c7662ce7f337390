// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// took returns how long a call takes and whether it was made.
func took(t *testing.T, n *Node, call kernel.Call, err error) time.Duration {
	t.Helper()
	began, made := time.Now(), false
	got := n.TakeTime(t.Context(), call, func() error { made = true; return err })
	if !made || got != err { //nolint:errorlint // the very error
		t.Errorf("%s: made %v, got %v", call.Function, made, got)
	}
	return time.Since(began)
}

func TestCallsTakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := openNode(t, t.TempDir(), Options{Scenario: smallScenario()})
		format := kernel.Call{Function: "FormatVolume"}
		if d := took(t, n, format, nil); d != 0 {
			t.Errorf("by default, formatting takes %v", d)
		}
		must(t, n.SetSwitch("timing", "windows"))
		layout := kernel.Call{Function: "DeviceIoControl", Code: win32.IOCTL_DISK_SET_DRIVE_LAYOUT_EX}
		look := kernel.Call{Function: "DeviceIoControl", Code: win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX}
		for _, c := range []struct {
			call kernel.Call
			err  error
			want time.Duration
		}{
			{format, nil, 2900 * time.Millisecond},
			{layout, nil, 200 * time.Millisecond},
			{look, nil, 0},
			{kernel.Call{Function: "CreateSMBGlobalMapping"}, nil, 300 * time.Millisecond},
			{kernel.Call{Function: "CreateSMBGlobalMapping"}, win32.ERROR_LOGON_FAILURE, 300 * time.Millisecond},
			{kernel.Call{Function: "CreateSMBGlobalMapping"}, win32.ERROR_BAD_NETPATH, 21300 * time.Millisecond},
			{kernel.Call{Function: "VolumeInformation"}, win32.ERROR_BAD_NETPATH, 0},
		} {
			if d := took(t, n, c.call, c.err); d != c.want {
				t.Errorf("%s %d: took %v, want %v", c.call.Function, c.call.Code, d, c.want)
			}
		}
		must(t, n.SetSwitch("timing", "none"))
		if d := took(t, n, format, nil); d != 0 {
			t.Errorf("after the switch, formatting takes %v", d)
		}
	})
}

// The wait of a call goes by the node's clock, which the test moves, and ends early when the call is abandoned.
func TestWaitsUseTheNodesClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := openNode(t, t.TempDir(), Options{Scenario: smallScenario()})
		must(t, n.SetSwitch("timing", "windows"))
		stoppedClock(t, n)
		format := func() (done func() bool) {
			over := false
			go func() {
				took(t, n, kernel.Call{Function: "FormatVolume"}, nil)
				over = true
			}()
			return func() bool { synctest.Wait(); return over }
		}
		done := format()
		want := func(over bool, when string) {
			t.Helper()
			if got := done(); got != over {
				t.Errorf("%s: the call is over: %v", when, got)
			}
		}
		time.Sleep(time.Hour) // of the host
		want(false, "while the clock stands")
		setClock(t, n, ClockChange{Advance: 2 * time.Second})
		want(false, "after two seconds")
		setClock(t, n, ClockChange{Advance: time.Second})
		want(true, "after three seconds")

		now, _ := n.Clock()
		done = format()
		done()
		setClock(t, n, ClockChange{To: now.Add(-24 * time.Hour)})
		done()
		setClock(t, n, ClockChange{Advance: 2 * time.Second})
		want(false, "two seconds after the clock was set back")
		setClock(t, n, ClockChange{Advance: time.Second})
		want(true, "three seconds after the clock was set back")
		done = format()
		want(false, "at once, the second one")
		must(t, n.SetSwitch("timing", "none"))
		want(true, "after the switch")

		must(t, n.SetSwitch("timing", "windows"))
		done = format()
		want(false, "at once")
		n.Hasten(true)
		if !done() || !format()() {
			t.Error("a call waited although the agent stops")
		}
		must(t, n.Reboot())
		done = format()
		want(false, "at once, after a reboot")
		start := false
		setClock(t, n, ClockChange{Stopped: &start})
		time.Sleep(3 * time.Second)
		want(true, "after three seconds of a clock that was started again")
	})
}
