// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"path/filepath"
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

// The wait of a call ends early when the agent stops.
func TestWaitsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := openNode(t, t.TempDir(), Options{Scenario: smallScenario()})
		must(t, n.SetSwitch("timing", "windows"))
		format := func(after time.Duration, end func()) time.Duration {
			timer := time.AfterFunc(after, end)
			defer timer.Stop()
			return took(t, n, kernel.Call{Function: "FormatVolume"}, nil)
		}
		if d := format(time.Second, func() { must(t, n.SetSwitch("automountOff", "true")) }); d != 2900*time.Millisecond {
			t.Errorf("another switch: %v", d)
		}
		if d := format(2*time.Second, func() { n.Hasten() }); d != 2*time.Second {
			t.Errorf("the agent stops: %v", d)
		}
		if d := format(time.Second, func() {}); d != 0 {
			t.Errorf("while the agent stops: %v", d)
		}
		must(t, n.Reboot())
		if d := format(time.Second, func() {}); d != 2900*time.Millisecond {
			t.Errorf("after a reboot: %v", d)
		}
		saved := filepath.Join(t.TempDir(), "saved")
		must(t, n.Save(saved, false))
		must(t, n.PrepareRestore(saved))
		n.Hasten()
		must(t, n.Restore())
		if d := format(time.Second, func() {}); d != 2900*time.Millisecond {
			t.Errorf("after a return to what was saved: %v", d)
		}
	})
}
