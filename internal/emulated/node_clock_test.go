// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/services"
)

func setClock(t *testing.T, n *Node, c ClockChange) time.Time {
	t.Helper()
	now, err := n.SetClock(c)
	must(t, err)
	return now
}

func stoppedClock(t *testing.T, n *Node) {
	t.Helper()
	stop := true
	setClock(t, n, ClockChange{Stopped: &stop})
}

func TestClock(t *testing.T) {
	dir := t.TempDir()
	n := openNode(t, dir, Options{Scenario: smallScenario()})
	noon := time.Date(2031, 5, 1, 12, 0, 0, 0, time.UTC)
	stop, start := true, false
	if now := setClock(t, n, ClockChange{To: noon, Advance: time.Hour, Stopped: &stop}); !now.Equal(noon.Add(time.Hour)) {
		t.Errorf("got %v", now)
	}
	must(t, n.Reboot())
	must(t, n.Close())
	n = openNode(t, dir, Options{})
	if now, stopped := n.Clock(); !now.Equal(noon.Add(time.Hour)) || !stopped {
		t.Errorf("after a reboot and a restart: got %v, stopped %v", now, stopped)
	}
	setClock(t, n, ClockChange{Stopped: &start})
	first, stopped := n.Clock()
	if second, _ := n.Clock(); stopped || first.Before(noon) || second.Before(first) ||
		first.After(noon.Add(2*time.Hour)) {
		t.Errorf("a clock that goes: got %v, then %v, stopped %v", first, second, stopped)
	}
	for name, c := range map[string]ClockChange{
		"back": {Advance: -1}, "too far": {Advance: 200 * 365 * 24 * time.Hour}, "too early": {To: time.Unix(0, 0)},
		"too late": {To: noon.AddDate(200, 0, 0)},
	} {
		if _, err := n.SetClock(c); !errors.Is(err, ErrInvalidClock) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestNewFilesHaveTheTimeOfTheNode(t *testing.T) {
	n := openNode(t, t.TempDir(), Options{Scenario: smallScenario()})
	noon := time.Date(2031, 5, 1, 12, 0, 0, 0, time.UTC)
	stop := true
	setClock(t, n, ClockChange{To: noon, Stopped: &stop})
	host, err := n.HostPath(mkdir(t, n, `C:\made`))
	must(t, err)
	info, err := os.Stat(filepath.Clean(host))
	must(t, err)
	if !info.ModTime().Equal(noon) {
		t.Errorf("got %v", info.ModTime())
	}
}

func TestSlowService(t *testing.T) {
	n := openNode(t, t.TempDir(), Options{Scenario: withServices(services.Spec{Name: "slow", PendingTime: time.Minute})})
	stoppedClock(t, n)
	must(t, n.StartService("slow"))
	for _, s := range states(t, n, "slow", 3) {
		if s != starting {
			t.Errorf("before its time: got %d", s)
		}
	}
	setClock(t, n, ClockChange{Advance: time.Minute - 1})
	if s := queryService(t, n, "slow").State; s != starting {
		t.Errorf("just before its time: got %d", s)
	}
	setClock(t, n, ClockChange{Advance: 1})
	if s := queryService(t, n, "slow").State; s != running {
		t.Errorf("after its time: got %d", s)
	}
	must(t, n.StopService("slow"))
	setClock(t, n, ClockChange{Advance: time.Minute})
	if s := queryService(t, n, "slow").State; s != win32.SERVICE_STOPPED {
		t.Errorf("stopped: got %d", s)
	}
}
