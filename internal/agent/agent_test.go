// SPDX-License-Identifier: Apache-2.0

//go:build unix

package agent_test

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	disk "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/emulation"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

func start(t *testing.T, c emulation.Config) *emulation.Agent {
	t.Helper()
	a, err := emulation.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Stop(context.Background()) })
	return a
}

func dialAdmin(t *testing.T, a interface{ Path(endpoint string) string }) *adminclient.Client {
	t.Helper()
	c, err := adminclient.Dial(t.Context(), filepath.Dir(a.Path("any")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func dialDisk(t *testing.T, a *emulation.Agent) *disk.Client {
	t.Helper()
	c, err := disk.NewClientWithPipePath(a.Path("csi-proxy-disk-v1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func listsDisks(t *testing.T, a *emulation.Agent) int {
	t.Helper()
	r, err := dialDisk(t, a).ListDiskIDs(t.Context(), &diskapi.ListDiskIDsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return len(r.GetDiskIDs())
}

// endpoints returns the number of all endpoints.
func endpoints() int { return len(apis.All(&node.Node{})) }

func TestTwoAgentsInOneProcess(t *testing.T) {
	var only apis.Selection
	if err := only.Set("volume=off"); err != nil {
		t.Fatal(err)
	}
	first := start(t, emulation.Config{StateDir: testnode.ShortDir(t)})
	second := start(t, emulation.Config{StateDir: testnode.ShortDir(t), Config: agent.Config{APIs: &only}})
	volumes := 0
	for _, e := range apis.All(&node.Node{}) {
		if e.Group == "volume" {
			volumes++
		}
	}
	if all := endpoints(); volumes == 0 || first.Ready() != all || second.Ready() != all-volumes {
		t.Errorf("ready: got %d and %d, want %d and %d", first.Ready(), second.Ready(), all, all-volumes)
	}
	if _, err := dialAdmin(t, first).Remove(t.Context(), &nodeapi.RemoveRequest{
		Document: nodeapi.Document("disks", map[string]any{"number": 2})}); err != nil {
		t.Fatal(err)
	}
	if a, b := listsDisks(t, first), listsDisks(t, second); a != 2 || b != 3 {
		t.Errorf("disks: got %d and %d, want 2 and 3", a, b)
	}
	if err := first.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if n := listsDisks(t, second); n != 3 {
		t.Errorf("disks of the other agent: got %d", n)
	}
}

func TestStoppedAgentLeavesNothing(t *testing.T) {
	dir := testnode.ShortDir(t)
	for range 2 { // the second one finds everything free
		a := start(t, emulation.Config{StateDir: dir})
		if err := a.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := a.Stop(t.Context()); err != nil {
			t.Errorf("a second Stop: %v", err)
		}
		if a.Ready() != 0 {
			t.Errorf("ready after Stop: %d", a.Ready())
		}
		left, err := filepath.Glob(filepath.Join(dir, "run", "*.sock"))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

func TestFailedStartLeavesNothing(t *testing.T) {
	dir := testnode.ShortDir(t)
	run := filepath.Join(dir, "run")
	if err := os.MkdirAll(run, 0o700); err != nil {
		t.Fatal(err)
	}
	live, err := net.Listen("unix", filepath.Join(run, "csiproxy-admin.sock"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := emulation.Start(t.Context(), emulation.Config{StateDir: dir}); err == nil ||
		!strings.Contains(err.Error(), "csiproxy-admin.sock") {
		t.Fatalf("got %v, want an error that names the socket", err)
	}
	if err := live.Close(); err != nil {
		t.Fatal(err)
	}
	start(t, emulation.Config{StateDir: dir})
}

// startReal starts an agent that takes a node for a real one.
func startReal(t *testing.T, k kernel.Kernel) *agent.Agent {
	t.Helper()
	a, err := agent.Start(t.Context(), agent.Config{Kernel: k,
		Transport: transport.Options{SocketDir: testnode.ShortDir(t)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Stop(context.Background()) })
	return a
}

// gate is an interceptor that holds the kernel calls of one function until it is opened.
type gate struct {
	function string
	entered  chan struct{}
	open     chan struct{}
	once     sync.Once
}

func newGate(function string) *gate {
	return &gate{function: function, entered: make(chan struct{}), open: make(chan struct{})}
}

func (g *gate) intercept(_ context.Context, call kernel.Call, do func() error) error {
	if call.Function == g.function {
		g.once.Do(func() { close(g.entered) })
		<-g.open
	}
	return do()
}

func TestRebootCutsCallsOffAndServesAgain(t *testing.T) {
	g := newGate("ReenumerateDevices")
	a := start(t, emulation.Config{StateDir: testnode.ShortDir(t),
		Config: agent.Config{Node: node.Config{Interceptor: g.intercept}}})
	disks := dialDisk(t, a)
	cut := make(chan error, 1)
	go func() {
		_, err := disks.Rescan(t.Context(), &diskapi.RescanRequest{})
		cut <- err
	}()
	<-g.entered

	rebooted := make(chan error, 1)
	go func() {
		_, err := dialAdmin(t, a).Reboot(t.Context(), &nodeapi.RebootRequest{})
		rebooted <- err
	}()
	if err := <-cut; status.Code(err) != codes.Unavailable {
		t.Errorf("the running call: got %v, want Unavailable", err)
	}
	// The API is away, the admin endpoint is not.
	apis, err := dialAdmin(t, a).ListAPIs(t.Context(), &admin.ListAPIsRequest{})
	if err != nil || len(apis.GetApis()) != 0 {
		t.Errorf("APIs during the reboot: got %v, %v", apis, err)
	}
	if _, err := dialAdmin(t, a).GetFacts(t.Context(), &admin.GetFactsRequest{}); status.Code(err) != codes.Unavailable {
		t.Errorf("facts during the reboot: got %v, want Unavailable", err)
	}
	if _, err := dialAdmin(t, a).Reboot(t.Context(), &nodeapi.RebootRequest{}); status.Code(err) != codes.Unavailable {
		t.Errorf("a second reboot meanwhile: got %v, want Unavailable", err)
	}
	close(g.open)
	if err := <-rebooted; err != nil {
		t.Fatal(err)
	}
	if a.Ready() != endpoints() {
		t.Errorf("ready after the reboot: got %d", a.Ready())
	}
	// The client from before the reboot goes on.
	if _, err := disks.Rescan(t.Context(), &diskapi.RescanRequest{}); err != nil {
		t.Errorf("the old client: %v", err)
	}
}

func TestStopWaitsForTheNode(t *testing.T) {
	g := newGate("ReenumerateDevices")
	a := start(t, emulation.Config{StateDir: testnode.ShortDir(t),
		Config: agent.Config{Node: node.Config{Interceptor: g.intercept}}})
	ctx, giveUp := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := dialDisk(t, a).Rescan(ctx, &diskapi.RescanRequest{})
		gone <- err
	}()
	<-g.entered
	giveUp()
	if err := <-gone; status.Code(err) != codes.Canceled {
		t.Errorf("the caller that gave up: got %v", err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- a.Stop(context.Background()) }()
	select {
	case err := <-stopped:
		t.Fatalf("the agent stopped while the node was busy: %v", err)
	case <-waitClosed(a):
	}
	close(g.open)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// waitClosed returns a channel that is closed when the agent's API is closed, which happens before it waits for the
// node.
func waitClosed(a *emulation.Agent) <-chan struct{} {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		for {
			c, err := net.Dial("unix", a.Path("csi-proxy-disk-v1"))
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, c) // until the agent closes it
			_ = c.Close()
		}
	}()
	return closed
}

func TestIncompleteConfig(t *testing.T) {
	n, err := emulated.Open(testnode.ShortDir(t), emulated.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Close() }()
	for name, c := range map[string]agent.Config{
		"nothing":    {},
		"no sockets": {Kernel: n},
		"no working dir": {Kernel: n, Transport: transport.Options{SocketDir: testnode.ShortDir(t)},
			Node: node.Config{WorkingDirs: []string{"relative"}}},
	} {
		if a, err := agent.Start(t.Context(), c); err == nil {
			_ = a.Stop(t.Context())
			t.Errorf("%s: got no error", name)
		}
	}
}
