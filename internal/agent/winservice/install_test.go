// SPDX-License-Identifier: Apache-2.0

package winservice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// State and its values are Windows' own.
type State = win32.ServiceState

const (
	Stopped, StartPending = win32.SERVICE_STOPPED, win32.SERVICE_START_PENDING
	StopPending, Running  = win32.SERVICE_STOP_PENDING, win32.SERVICE_RUNNING
)

// A node is a Service Control Manager of one slow service: it reaches a requested state some queries later.
type node struct {
	service *Installed
	source  bool
	slow    int   // queries that a change of state lasts
	fails   bool  // the service stops again when it is started
	refuses error // of every change
	held    int   // queries that a deleted service is still there for: a process holds it open
	deleted bool

	target State
	left   int
	calls  []string
}

func (n *node) ListServices() ([]string, error) { return nil, errors.ErrUnsupported }

func (n *node) Query(name string) (Installed, error) {
	if n.deleted {
		if n.held--; n.held < 0 {
			n.service = nil
		}
	}
	if n.service == nil {
		return Installed{}, ErrNotInstalled
	}
	if n.target != 0 {
		if n.left--; n.left < 0 {
			n.service.State, n.target = n.target, 0
			if n.fails && n.service.State == Running {
				n.service.State, n.service.ExitCode, n.service.SpecificExitCode = Stopped, 1066, exitStart
			}
		}
	}
	s := *n.service
	s.Name = name
	return s, nil
}

func (n *node) change(call string) error {
	n.calls = append(n.calls, call)
	return n.refuses
}

func (n *node) Create(d Definition) error {
	n.service = &Installed{Definition: d, State: Stopped}
	return n.change("create")
}

func (n *node) Update(d Definition) error {
	n.service.Definition = d
	return n.change("update")
}

func (n *node) Start(string) error {
	if n.service.State != Stopped {
		return errors.New("started while " + n.service.State.String())
	}
	n.service.State, n.target, n.left = StartPending, Running, n.slow
	return n.change("start")
}

func (n *node) Stop(string) error {
	if n.service.State != Running {
		return errors.New("stopped while " + n.service.State.String())
	}
	n.service.State, n.target, n.left = StopPending, Stopped, n.slow
	return n.change("stop")
}

func (n *node) Delete(string) error {
	if n.service.State != Stopped {
		return errors.New("deleted while " + n.service.State.String())
	}
	n.deleted = true
	return n.change("delete")
}

func (n *node) RegisterEvents(string) error { n.source = true; return nil }
func (n *node) RemoveEvents(string) error   { n.source = false; return nil }
func (n *node) Close() error                { return nil }

func wanted() Definition {
	return Definition{
		Name: "csiproxy", DisplayName: "CSI Proxy", Description: "serves",
		Command: []string{`C:\a b\csi-proxy.exe`, "-windows-service"},
		Start:   win32.SERVICE_AUTO_START, Account: LocalSystem, PreShutdown: 150 * time.Second,
		Recovery: &Recovery{Restart: []time.Duration{10 * time.Second}, OnError: true},
	}
}

func TestInstall(t *testing.T) {
	for _, test := range []struct {
		name  string
		there func(*Definition) // how the service that exists differs; nil: none does
		calls []string
		want  Changes
	}{
		{"new", nil, []string{"create"}, Changes{Created: true}},
		{"the same again", func(*Definition) {}, []string{"update"}, Changes{}},
		{"an account's name has no case", func(d *Definition) { d.Account = "localsystem" }, []string{"update"}, Changes{}},
		{"what Windows cannot tell is let be", func(d *Definition) { d.Recovery = nil }, []string{"update"}, Changes{}},
		{
			"unquoted, as sc.exe made it",
			func(d *Definition) { d.Command = []string{`C:\a`, `b\csi-proxy.exe`, "-windows-service"} },
			[]string{"update"},
			Changes{Updated: []string{`command: "C:\a b\csi-proxy.exe" -windows-service, was C:\a b\csi-proxy.exe -windows-service`}},
		},
		{
			"everything else",
			func(d *Definition) {
				d.Start, d.Account, d.DisplayName = win32.SERVICE_DEMAND_START, `.\somebody`, "csiproxy"
				d.Description, d.PreShutdown = "", 0
				d.Recovery = &Recovery{Restart: []time.Duration{time.Second, time.Minute}, Reset: time.Hour}
			},
			[]string{"update"},
			Changes{Updated: []string{
				"start: automatic, was manual", `account: LocalSystem, was .\somebody`, "display name: CSI Proxy, was csiproxy",
				"recovery: restart after 10s, was restart after 1s, 1m0s, with the count reset after 1h0m0s, only after a crash",
			}},
		},
		{"no recovery", func(d *Definition) { d.Recovery = &Recovery{} }, []string{"update"},
			Changes{Updated: []string{"recovery: restart after 10s, was none"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := &node{}
			if test.there != nil {
				there := wanted()
				test.there(&there)
				n.service = &Installed{Definition: there, State: Running}
			}
			got, err := Install(n, wanted())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.calls, n.calls); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(wanted(), n.service.Definition); diff != "" {
				t.Error(diff)
			}
			if !n.source {
				t.Error("there is no event source")
			}
			if again, err := Install(n, wanted()); err != nil || again.Created || len(again.Updated) > 0 {
				t.Errorf("installed again: %v, %v, want no change", again, err)
			}
		})
	}
}

func TestFailedInstallationIsReported(t *testing.T) {
	refused := errors.New("access denied")
	for _, n := range []*node{{refuses: refused}, {refuses: refused, service: &Installed{}}} {
		if _, err := Install(n, wanted()); !errors.Is(err, refused) {
			t.Errorf("got %v, want %v", err, refused)
		}
	}
}

func TestStartStopAndUninstall(t *testing.T) {
	start := func(ctx context.Context, n *node) error { return Start(ctx, n, "csiproxy") }
	stop := func(ctx context.Context, n *node) error { return Stop(ctx, n, "csiproxy") }
	uninstall := func(ctx context.Context, n *node) error {
		found, err := Uninstall(ctx, n, "csiproxy")
		n.calls = append(n.calls, fmt.Sprintf("found %v", found))
		return err
	}
	for _, test := range []struct {
		name  string
		node  node
		state State // 0: not installed
		do    func(context.Context, *node) error
		calls []string
		err   string
		end   State
	}{
		{"start", node{slow: 5}, Stopped, start, []string{"start"}, "", Running},
		{"start what runs", node{}, Running, start, nil, "", Running},
		{"start what starts", node{target: Running, left: 3}, StartPending, start, nil, "", Running},
		{"start what stops", node{target: Stopped, left: 3, slow: 2}, StopPending, start, []string{"start"}, "", Running},
		{"start what fails", node{fails: true}, Stopped, start, []string{"start"},
			"csiproxy stopped again, with exit code 1 of its own", Stopped},
		{"start what hangs", node{slow: 1 << 30}, Stopped, start, []string{"start"},
			"csiproxy is still starting: context deadline exceeded", StartPending},
		{"start what is not there", node{}, 0, start, nil, "not installed", 0},
		{"stop", node{slow: 5}, Running, stop, []string{"stop"}, "", Stopped},
		{"stop what is stopped", node{}, Stopped, stop, nil, "", Stopped},
		{"stop what stops", node{target: Stopped, left: 3}, StopPending, stop, nil, "", Stopped},
		{"stop what starts", node{target: Running, left: 3}, StartPending, stop, []string{"stop"}, "", Stopped},
		{"stop what hangs", node{slow: 1 << 30}, Running, stop, []string{"stop"},
			"csiproxy is still stopping: context deadline exceeded", StopPending},
		{"uninstall what runs", node{slow: 5, source: true}, Running, uninstall,
			[]string{"stop", "delete", "found true"}, "", 0},
		{"uninstall what is stopped", node{source: true}, Stopped, uninstall, []string{"delete", "found true"}, "", 0},
		{"uninstall what is held for a while", node{source: true, held: 20}, Stopped, uninstall,
			[]string{"delete", "found true"}, "", 0},
		{"uninstall what is held", node{source: true, held: 1 << 30}, Stopped, uninstall, []string{"delete", "found true"},
			"marked for deletion, but a program holds it open", Stopped},
		{"uninstall what is not there", node{source: true}, 0, uninstall, []string{"found false"}, "", 0},
		{"uninstall what hangs", node{slow: 1 << 30, source: true}, Running, uninstall, []string{"stop", "found true"},
			"still stopping", StopPending},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &test.node
				if test.state != 0 {
					n.service = &Installed{Definition: wanted(), State: test.state}
				}
				waitCtx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := test.do(waitCtx, n)
				if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
					t.Errorf("got %v, want %q", err, test.err)
				}
				if diff := cmp.Diff(test.calls, n.calls); diff != "" {
					t.Error(diff)
				}
				end := State(0)
				if n.service != nil {
					end = n.service.State
				}
				if end != test.end {
					t.Errorf("the service is %v in the end, want %v", end, test.end)
				}
				if removed := slices.Contains(n.calls, "delete") || slices.Contains(n.calls, "found false"); removed && n.source {
					t.Error("the event source is left behind")
				}
			})
		})
	}
}

func TestExit(t *testing.T) {
	for _, test := range []struct {
		ended Installed
		want  string
	}{
		{Installed{}, "Win32 exit code 0"},
		{Installed{ExitCode: 1053}, "Win32 exit code 1053"},
		{Installed{ExitCode: 1066, SpecificExitCode: exitServe}, "exit code 2 of its own"},
	} {
		if got := test.ended.Exit(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
