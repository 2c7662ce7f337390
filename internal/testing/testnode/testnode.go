// SPDX-License-Identifier: Apache-2.0

// Package testnode is csiproxytest for this repository's own tests, which may look inside: it adds the agent, the
// emulated node, and faults in kernel calls by the names of package win32.
package testnode

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	adminserver "github.com/kubernetes-csi/csi-proxy/internal/agent/admin"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/limits"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/emulation"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
)

// Node is a running agent on the default emulated node.
type Node struct {
	*csiproxytest.Node
	Agent    *emulation.Agent
	Emulated *emulated.Node
	Faults   *Faults
	StateDir string
}

// Options change the node from the default one.
type Options struct {
	// StateDir is where the node lives; empty: a new temporary directory.
	StateDir string
	// Emulated are the emulated node's options.
	Emulated emulated.Options
	// WorkingDirs are allowed besides kubelet's directory.
	WorkingDirs []string
	// PlainSMB does not ask for encryption on SMB mappings.
	PlainSMB bool
	// EraseOnFormat lets FormatVolume erase files.
	EraseOnFormat bool
	// ProtectedServices are those that no caller may stop; see agent.Config.
	ProtectedServices []string
	// Metrics makes the agent count; see agent.Agent.Metrics.
	Metrics bool
	// KernelHistograms is agent.Config's.
	KernelHistograms bool
	// Limits bound what clients cost; see agent.Config.
	Limits limits.Limits
	// CallTimeout limits the duration of every call; see agent.Config.
	CallTimeout time.Duration
	// Policy decides what clients may do; see agent.Config.
	Policy *policy.Policy
	// Audit is told of every call; see agent.Config.
	Audit server.Recorder
}

// Start starts the agent and stops it when the test ends.
func Start(t testing.TB, o Options) *Node {
	t.Helper()
	if o.StateDir == "" {
		o.StateDir = ShortDir(t)
	}
	n := &Node{StateDir: o.StateDir, Faults: &Faults{}}
	var err error
	config := agent.Config{
		Transport: transport.Options{PipePrefix: "test-" + rand.Text() + "-"},
		Node: node.Config{Interceptor: n.Faults.observe,
			WorkingDirs: append([]string{node.KubeletDir}, o.WorkingDirs...), RequirePrivacy: !o.PlainSMB,
			EraseOnFormat: o.EraseOnFormat, ProtectedServices: o.ProtectedServices},
		Server:  server.Options{Limits: o.Limits, CallTimeout: o.CallTimeout, Policy: o.Policy},
		Metrics: o.Metrics, KernelHistograms: o.KernelHistograms,
	}
	if o.Audit != nil {
		config.Server.Recorders = []server.Recorder{o.Audit}
	}
	n.Agent, err = emulation.Start(t.Context(),
		emulation.Config{StateDir: o.StateDir, Node: o.Emulated, Config: config})
	if err != nil {
		t.Fatalf("starting the agent: %v", err)
	}
	n.Emulated, n.Faults.set = n.Agent.Emulated, n.Agent.Faults
	n.Node = csiproxytest.FromAgent(t, n.Agent)
	return n
}

// Reboot reboots the node; the clients are new ones afterwards, as a driver's would be.
func (n *Node) Reboot() {
	n.Node.Reboot()
	n.Reconnect()
}

// Tree returns the node's storage as csi-proxyctl tree shows it.
func (n *Node) Tree() *treeview.Tree { return treeview.FromFacts(n.Facts()) }

// Admin connects to the node's admin endpoint, until the test ends.
func (n *Node) Admin(t testing.TB) *adminclient.Client {
	t.Helper()
	client, err := adminclient.DialPath(t.Context(), n.Agent.Path(adminserver.EndpointName))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// ShortDir returns a temporary directory whose path is short enough for unix sockets, whatever the test is called.
func ShortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "csi") //nolint:usetesting // t.TempDir has the test's name in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Fault is one disturbance of the calls of one kernel function: a fault of the API with the numbers of package win32.
type Fault struct {
	Function    string
	Code        uint32 // the control code or information class; 0: any
	Object      string // a part of the object, in any case; empty: any
	Skip, Times int    // how many such calls pass first, and how many are then disturbed; 0: all

	Error win32.Errno // the calls fail with it
	Hang  bool        // the calls wait until the fault ends
	After bool        // the calls take effect first
}

// Faults disturbs a node's kernel calls and remembers them, also those of a node that reboots.
type Faults struct {
	set *faults.Set // the agent's

	mu       sync.Mutex
	observed []kernel.Call
	panics   string // the function whose next call panics
}

// Add begins a disturbance. Reached is closed when its first call arrives; end takes it back. It panics for one that
// could never happen, as that is a mistake in the test.
func (f *Faults) Add(fault Fault) (reached <-chan struct{}, end func()) {
	m := &nodeapi.Fault{Function: fault.Function, Object: fault.Object,
		Skip: uint32(fault.Skip), Times: uint32(fault.Times), Hang: fault.Hang, AfterEffect: fault.After}
	if fault.Code != 0 {
		m.ControlCode = fmt.Sprint(fault.Code)
	}
	if fault.Error != 0 {
		m.Fail = fmt.Sprint(uint32(fault.Error))
	}
	id, reached, err := f.set.Add(m)
	if err != nil {
		panic(err) //nolint:forbidigo // no test can continue after this
	}
	return reached, func() { f.set.Remove(id) }
}

// Hang makes the next call of a function wait until release is called; reached is closed when the call arrives.
func (f *Faults) Hang(function string) (reached <-chan struct{}, release func()) {
	return f.Add(Fault{Function: function, Times: 1, Hang: true})
}

// HangAll makes all calls of a function wait until release is called; reached is closed when the first call arrives.
func (f *Faults) HangAll(function string) (reached <-chan struct{}, release func()) {
	return f.Add(Fault{Function: function, Hang: true})
}

// Release ends all disturbances and lets hanging calls go on.
func (f *Faults) Release() { f.set.Release() }

// Calls returns the kernel calls since the last call of Calls.
func (f *Faults) Calls() []kernel.Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.observed
	f.observed = nil
	return calls
}

// Panic makes the next call of a function panic.
func (f *Faults) Panic(function string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.panics = function
}

// observe is the kernel.Interceptor that records the calls.
func (f *Faults) observe(_ context.Context, call kernel.Call, do func() error) error {
	f.mu.Lock()
	f.observed = append(f.observed, call)
	panics := call.Function == f.panics
	if panics {
		f.panics = ""
	}
	f.mu.Unlock()
	if panics {
		panic("injected into " + call.Function) //nolint:forbidigo // the test asks for it
	}
	return do()
}
