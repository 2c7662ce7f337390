// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
)

// process is a held process that may end.
type process struct{ ended bool }

func (p *process) Ended() bool  { return p.ended }
func (p *process) Close() error { return nil }

// connect opens a connection of a process.
func connect(t *testing.T, cs *Clients, pid uint32, p transport.Process) (*Conn, net.Conn) {
	t.Helper()
	server, client := net.Pipe()
	t.Cleanup(func() { _ = client.Close() })
	return cs.register(&transport.Conn{Conn: server, Peer: transport.Peer{PID: pid}, Process: p}), client
}

// clientOf returns the client of a process with one connection.
func clientOf(t *testing.T, cs *Clients, pid uint32) *Client {
	t.Helper()
	c, _ := connect(t, cs, pid, &process{})
	return c.Client()
}

func isClosed(t *testing.T, c net.Conn) bool {
	t.Helper()
	_ = c.SetReadDeadline(time.Now())
	_, err := c.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}

// isExhausted reports whether an error is what a client gets beyond its limits.
func isExhausted(err error) bool {
	e := (*errdefs.Error)(nil)
	return errors.As(err, &e) && e.Class == errdefs.ResourceExhausted
}

func TestOpenCallsAreBounded(t *testing.T) {
	cs := New(Limits{Calls: 3, ClientCalls: 4, ClientReserved: 2}, klog.Background(), NewMetrics(nil))
	a, _ := connect(t, cs, 1, &process{})
	var done []func()
	for i := range 4 {
		end, err := a.OpenCall()
		if err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
		done = append(done, end)
	}
	if _, err := a.OpenCall(); !isExhausted(err) {
		t.Errorf("beyond the client's limit: got %v", err)
	}
	b, _ := connect(t, cs, 2, &process{})
	for i := range 3 { // 2 reserved ones, and the last of all
		if _, err := b.OpenCall(); err != nil {
			t.Errorf("call %d of another client: %v", i, err)
		}
	}
	if _, err := b.OpenCall(); !isExhausted(err) {
		t.Errorf("beyond the limit of all: got %v", err)
	}
	c, _ := connect(t, cs, 3, &process{})
	for i := range 2 {
		if _, err := c.OpenCall(); err != nil {
			t.Errorf("reserved call %d of a client that comes when all are taken: %v", i, err)
		}
	}
	done[3]()
	if _, err := b.OpenCall(); err != nil {
		t.Errorf("after a call has ended: %v", err)
	}
}

func TestLongestIdleConnectionIsClosed(t *testing.T) {
	cs := New(Limits{ClientConnections: 3, Connections: 5}, klog.Background(), NewMetrics(nil))
	busy, busyEnd := connect(t, cs, 1, &process{})
	done, err := busy.OpenCall()
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	_, idle := connect(t, cs, 1, &process{})
	_, third := connect(t, cs, 1, &process{})
	_, newest := connect(t, cs, 1, &process{})
	for name, c := range map[string]struct {
		end    net.Conn
		closed bool
	}{"with a call": {busyEnd, false}, "idle": {idle, true}, "younger": {third, false}, "newest": {newest, false}} {
		if got := isClosed(t, c.end); got != c.closed {
			t.Errorf("the connection %s is closed: %v, want %v", name, got, c.closed)
		}
	}
	connect(t, cs, 2, &process{})
	connect(t, cs, 2, &process{})
	if isClosed(t, third) {
		t.Error("a connection was closed at the limit of all")
	}
	_, other := connect(t, cs, 3, &process{})
	if !isClosed(t, third) || isClosed(t, other) {
		t.Error("beyond the limit of all, not the client with most connections lost one")
	}
}

func TestReusedPIDIsANewClient(t *testing.T) {
	cs := New(Limits{}, klog.Background(), NewMetrics(nil))
	first := &process{}
	a, _ := connect(t, cs, 7, first)
	if b, _ := connect(t, cs, 7, &process{}); b.Client() != a.Client() {
		t.Error("two connections of a process belong to different clients")
	}
	first.ended = true
	b, _ := connect(t, cs, 7, &process{})
	if b.Client() == a.Client() {
		t.Error("the next process with the number is taken for the one that ended")
	}
	_ = a.Close() // must not remove its successor
	if c, _ := connect(t, cs, 7, &process{}); c.Client() != b.Client() {
		t.Error("the successor was forgotten")
	}
}

func TestClientsAreForgotten(t *testing.T) {
	metrics := NewMetrics(nil)
	cs := New(Limits{}, klog.Background(), metrics)
	c, _ := connect(t, cs, 1, &process{})
	slot, err := c.Client().Acquire(t.Context(), "Rescan")
	done, errCall := c.OpenCall()
	if err = errors.Join(err, errCall); err != nil {
		t.Fatal(err)
	}
	open := testutil.ToFloat64(metrics.connections)
	_ = c.Close()
	_ = c.Close()
	if left := testutil.ToFloat64(metrics.connections); open != 1 || left != 0 {
		t.Errorf("%v connections are counted, after the close %v", open, left)
	}
	if len(cs.clients) != 1 {
		t.Errorf("%d clients while an operation runs, want 1", len(cs.clients))
	}
	slot.Release()
	done() // gRPC ends a call after its connection
	if len(cs.clients)+len(cs.named)+cs.conns+cs.slots > 0 {
		t.Errorf("left: %+v", cs)
	}
}

func TestStoppingDropsSilentConnections(t *testing.T) {
	cs := New(Limits{}, klog.Background(), NewMetrics(nil))
	_, silent := connect(t, cs, 1, &process{})
	spoke, end := connect(t, cs, 1, &process{})
	go func() { _, _ = end.Write([]byte("x")) }()
	if _, err := spoke.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cs.Close()
	if !isClosed(t, silent) || isClosed(t, end) {
		t.Error("want the silent connection closed, and no other")
	}
	if c, _ := connect(t, cs, 2, nil); c != nil {
		t.Error("a connection is admitted after Close")
	}
	cs.DropAll()
	if !isClosed(t, end) {
		t.Error("DropAll left a connection")
	}
}

func TestLogLinesAreBounded(t *testing.T) {
	cs := New(Limits{}, klog.Background(), NewMetrics(nil))
	noisy, quiet := clientOf(t, cs, 1), clientOf(t, cs, 2)
	lines := 0
	for range 1000 {
		if ok, _ := noisy.MayLog(); ok {
			lines++
		}
	}
	if lines < clientLogBurst || lines > clientLogBurst+10 {
		t.Errorf("%d lines of 1000, want about %d", lines, clientLogBurst)
	}
	if ok, leftOut := quiet.MayLog(); !ok || leftOut != 0 {
		t.Errorf("another client: %v, %d", ok, leftOut)
	}
}
