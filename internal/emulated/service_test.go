// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/services"
)

// withServices returns the scenario of a small node with only these services.
func withServices(specs ...services.Spec) *scenario.Scenario {
	s := smallScenario()
	s.Services = specs
	return s
}

func queryService(t *testing.T, n *Node, name string) kernel.Service {
	t.Helper()
	s, err := n.QueryService(name)
	must(t, err)
	return s
}

func dependents(t *testing.T, n *Node, name string) []string {
	t.Helper()
	names, err := n.DependentServices(name)
	must(t, err)
	return names
}

type inStates = []win32.ServiceState

// states returns the states that a number of queries see.
func states(t *testing.T, n *Node, name string, queries int) (seen inStates) {
	t.Helper()
	for range queries {
		seen = append(seen, queryService(t, n, name).State)
	}
	return seen
}

const (
	stopped  = win32.SERVICE_STOPPED
	starting = win32.SERVICE_START_PENDING
	stopping = win32.SERVICE_STOP_PENDING
	running  = win32.SERVICE_RUNNING
)

func TestServiceStartsAndStops(t *testing.T) {
	n := openNode(t, t.TempDir(), Options{Scenario: smallScenario()})
	for name, want := range map[string]kernel.Service{
		"csi-dependent": {DisplayName: "csi-dependent", StartType: win32.SERVICE_AUTO_START, State: running},
		"SPOOLER": {DisplayName: "Spooler", StartType: win32.SERVICE_DEMAND_START, State: stopped,
			ExitCode: uint32(win32.ERROR_SERVICE_NEVER_STARTED)},
	} {
		if diff := cmp.Diff(queryService(t, n, name), want); diff != "" {
			t.Errorf("%s at first (-got +want):\n%s", name, diff)
		}
	}
	must(t, n.StartService("spooler"))
	wantCode(t, "a second start", n.StartService("Spooler"), win32.ERROR_SERVICE_ALREADY_RUNNING)
	wantCode(t, "a stop meanwhile", n.StopService("Spooler"), win32.ERROR_SERVICE_CANNOT_ACCEPT_CTRL)
	first := queryService(t, n, "Spooler")
	if first.CheckPoint != 1 || first.WaitHint == 0 {
		t.Errorf("pending: %+v", first)
	}
	if diff := cmp.Diff(states(t, n, "Spooler", 4), inStates{starting, starting, running, running}); diff != "" {
		t.Errorf("states (-got +want):\n%s", diff)
	}
	must(t, n.StopService("Spooler"))
	wantCode(t, "a start meanwhile", n.StartService("Spooler"), win32.ERROR_SERVICE_ALREADY_RUNNING)
	if diff := cmp.Diff(states(t, n, "Spooler", 5), inStates{stopping, stopping, stopping, stopped, stopped}); diff != "" {
		t.Errorf("states (-got +want):\n%s", diff)
	}
	wantCode(t, "a second stop", n.StopService("Spooler"), win32.ERROR_SERVICE_NOT_ACTIVE)
}

func TestServiceFailures(t *testing.T) {
	n := openNode(t, t.TempDir(), Options{Scenario: withServices(
		services.Spec{Name: "disabled", StartType: services.Disabled},
		services.Spec{Name: "above-disabled", Dependencies: []string{"disabled"}},
		services.Spec{Name: "orphan", Dependencies: []string{"+group", "nowhere"}},
		services.Spec{Name: "base", Running: true},
		services.Spec{Name: "above", Running: true, Dependencies: []string{"BASE", "+group"}},
	)})
	for name, c := range map[string]struct {
		err  error
		want win32.Errno
	}{
		"start above disabled":    {n.StartService("above-disabled"), win32.ERROR_SERVICE_DEPENDENCY_FAIL},
		"start without what it's": {n.StartService("orphan"), win32.ERROR_SERVICE_DEPENDENCY_DELETED},
		"stop below a running":    {n.StopService("base"), win32.ERROR_DEPENDENT_SERVICES_RUNNING},
		"start unknown":           {n.StartService("nobody"), win32.ERROR_SERVICE_DOES_NOT_EXIST},
		"stop unknown":            {n.StopService("nobody"), win32.ERROR_SERVICE_DOES_NOT_EXIST},
		"start nameless":          {n.StartService(""), win32.ERROR_INVALID_NAME},
		"stop slash":              {n.StopService(`a\b`), win32.ERROR_INVALID_NAME},
		"start too long a name":   {n.StartService(strings.Repeat("x", 257)), win32.ERROR_INVALID_NAME},
	} {
		wantCode(t, name, c.err, c.want)
	}
	_, err := n.QueryService("nobody")
	wantCode(t, "query unknown", err, win32.ERROR_SERVICE_DOES_NOT_EXIST)
	_, err = n.DependentServices("nobody")
	wantCode(t, "dependents of unknown", err, win32.ERROR_SERVICE_DOES_NOT_EXIST)
}

func TestDependentServices(t *testing.T) {
	diamond := withServices(
		services.Spec{Name: "top", Running: true, Dependencies: []string{"left", "right"}, PendingQueries: 1},
		services.Spec{Name: "base", Running: true, PendingQueries: 1},
		services.Spec{Name: "left", Running: true, Dependencies: []string{"base"}, PendingQueries: 1},
		services.Spec{Name: "right", Running: true, Dependencies: []string{"base"}, PendingQueries: 1},
		services.Spec{Name: "idle", Dependencies: []string{"base"}},
		services.Spec{Name: "other", Running: true},
	)
	n := openNode(t, t.TempDir(), Options{Scenario: diamond})
	names := dependents(t, n, "BASE")
	if diff := cmp.Diff(names, []string{"top", "left", "right"}); diff != "" {
		t.Errorf("dependents (-got +want):\n%s", diff)
	}
	for _, name := range append(names, "base") {
		must(t, n.StopService(name))
		states(t, n, name, 2)
	}
	// A start also starts the services that are needed, and the service itself last.
	must(t, n.StartService("top"))
	if diff := cmp.Diff(states(t, n, "top", 1), inStates{starting}); diff != "" {
		t.Errorf("states (-got +want):\n%s", diff)
	}
	for queryService(t, n, "top").State == starting {
	}
	for _, name := range []string{"base", "left", "right", "top"} {
		if diff := cmp.Diff(states(t, n, name, 1), inStates{running}); diff != "" {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
	}
	if got := dependents(t, n, "top"); len(got) != 0 {
		t.Errorf("dependents of a service without dependents: %q", got)
	}
}

func TestServicesAfterReboot(t *testing.T) {
	n := openNode(t, t.TempDir(), Options{Scenario: withServices(
		services.Spec{Name: "auto", StartType: services.Automatic, Dependencies: []string{"needed"}},
		services.Spec{Name: "needed", StartType: services.StartType(win32.SERVICE_DEMAND_START)},
		services.Spec{Name: "manual", StartType: services.StartType(win32.SERVICE_DEMAND_START), Running: true},
		services.Spec{Name: "broken", StartType: services.Automatic, StartExitCode: 5},
		services.Spec{Name: "above-broken", StartType: services.Automatic, Dependencies: []string{"broken"}},
		services.Spec{Name: "disabled", StartType: services.Disabled, Running: true},
		services.Spec{Name: "slow", StartType: services.Automatic, PendingQueries: 9},
	)})
	must(t, n.StartService("slow"))
	must(t, n.Reboot())
	got := map[string]string{}
	for _, s := range n.state.Services {
		got[s.Name] = fmt.Sprint(s.State, " ", s.ExitCode)
	}
	want := map[string]string{
		"auto": "running 0", "needed": "running 0", "manual": "stopped 1077", "broken": "stopped 5",
		"above-broken": "stopped 1068", "disabled": "stopped 1077", "slow": "running 0",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("state and exit code (-got +want):\n%s", diff)
	}
}
