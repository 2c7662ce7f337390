// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/transport"
)

// crowd is connections of several processes, by Peer.String.
type crowd struct {
	t  *testing.T
	cs *Clients
	of map[string][]*Conn
}

func newCrowd(t *testing.T, limits Limits) *crowd {
	t.Helper()
	return &crowd{t: t, cs: New(limits, klog.Background(), nil), of: map[string][]*Conn{}}
}

// connect adds connections of a process that have sent something, or have not.
func (c *crowd) connect(peer transport.Peer, count int, spoke bool) {
	c.t.Helper()
	c.connectHeld(peer, nil, count, spoke)
}

// connectHeld adds connections of a process that is held.
func (c *crowd) connectHeld(peer transport.Peer, process transport.Process, count int, spoke bool) {
	c.t.Helper()
	for range count {
		ours, theirs := net.Pipe()
		c.t.Cleanup(func() { _ = theirs.Close() })
		added := c.cs.admit(&transport.Conn{Conn: ours, Peer: peer, Process: process})
		added.spoke.Store(spoke)
		c.of[peer.String()] = append(c.of[peer.String()], added)
	}
}

// user returns a process of root.
func user(pid uint32) transport.Peer {
	root := 0
	return transport.Peer{PID: pid, UID: &root}
}

// open shows the connections of each process: "+" for each open one, "-" for each that was dropped.
func (c *crowd) open() map[string]string {
	marks := map[string]string{}
	for name, conns := range c.of {
		var b strings.Builder
		for _, one := range conns {
			_ = one.Conn.SetReadDeadline(time.Now().Add(-time.Second))
			if _, err := one.Conn.Read(make([]byte, 1)); errors.Is(err, io.ErrClosedPipe) {
				b.WriteByte('-')
			} else {
				b.WriteByte('+')
			}
		}
		marks[name] = b.String()
	}
	return marks
}

func TestConnectionsOfOneProcess(t *testing.T) { synctest.Test(t, testConnectionsOfOneProcess) }

func testConnectionsOfOneProcess(t *testing.T) {
	c := newCrowd(t, Limits{ClientConnections: 5, Connections: 100})
	c.connect(user(1), 1, true)
	c.of["pid 1 uid 0"][0].work(1) // a call
	c.connect(user(1), 2, true)
	c.connect(user(1), 2, false) // probes that nobody closed
	time.Sleep(settling)
	c.connect(user(1), 2, true)  // push out the probes
	c.connect(user(1), 1, false) // pushes out the one that was used longest ago
	c.connect(user(2), 3, false)
	want := map[string]string{"pid 1 uid 0": "+-+--+++", "pid 2 uid 0": "+++"}
	if d := cmp.Diff(want, c.open()); d != "" {
		t.Errorf("connections (-want +got):\n%s", d)
	}
	open, dropped := testutil.ToFloat64(c.cs.metrics.connections), testutil.ToFloat64(c.cs.metrics.dropped)
	if got := fmt.Sprint(len(c.cs.conns), open, dropped); got != "8 8 3" {
		t.Errorf("open, and open and dropped in the metrics: got %s, want 8 8 3", got)
	}
	for _, conns := range c.of {
		for _, one := range conns {
			_ = one.Close()
		}
	}
	if got := len(c.cs.conns); got != 0 { // the process with the dropped connections stays known until it may log as before
		t.Errorf("after all are closed, %d connections are still counted", got)
	}
}

// When no more connections can be open, the process that has most loses one; a newcomer with few is let in.
func TestConnectionsOfAllProcesses(t *testing.T) {
	c := newCrowd(t, Limits{ClientConnections: 100, Connections: 10})
	c.connect(user(1), 2, true)
	c.connect(user(666), 20, true)
	c.connect(user(2), 3, true)
	c.connect(user(1), 1, true)
	want := map[string]string{
		"pid 1 uid 0": "+++", "pid 2 uid 0": "+++",
		"pid 666 uid 0": "----------------++++",
	}
	if d := cmp.Diff(want, c.open()); d != "" {
		t.Errorf("connections (-want +got):\n%s", d)
	}
}

// Where the system does not name the process, every connection counts alone.
func TestConnectionsOfUnknownProcesses(t *testing.T) {
	c := newCrowd(t, Limits{ClientConnections: 1, Connections: 100})
	c.connect(transport.Peer{}, 3, true)
	if d := cmp.Diff(map[string]string{"unknown process": "+++"}, c.open()); d != "" {
		t.Errorf("connections (-want +got):\n%s", d)
	}
}

// A process that is not held is identified by its number, whatever else the system tells about it at one time and not at another.
func TestConnectionsOfAProcessWhoseNameChanges(t *testing.T) {
	c, other := newCrowd(t, Limits{ClientConnections: 2, Connections: 100}), 1000
	c.connect(transport.Peer{PID: 7}, 1, true)
	c.connect(transport.Peer{PID: 7, Image: `C:\a driver.exe`}, 2, true)
	c.connect(transport.Peer{PID: 7, UID: &other}, 1, true)
	c.connect(transport.Peer{PID: 71}, 2, true)
	c.connect(user(0), 3, true) // outside the agent's PID namespace: nothing tells whether they are one
	want := map[string]string{"pid 7": "-", `pid 7 C:\a driver.exe`: "-+", "pid 7 uid 1000": "+", "pid 71": "++", "pid 0 uid 0": "+++"}
	if d := cmp.Diff(want, c.open()); d != "" {
		t.Errorf("connections (-want +got):\n%s", d)
	}
}

// A process that closes its connections keeps the slots of its streams until they are over.
func TestProcessThatComesBackForStreams(t *testing.T) {
	c := newCrowd(t, Limits{ClientStreams: 1})
	c.connect(user(1), 1, true)
	first := c.of["pid 1 uid 0"][0]
	if err := first.client.OpenStream(); err != nil {
		t.Fatal(err)
	}
	_ = first.Close()
	c.connect(user(1), 1, true)
	again := c.of["pid 1 uid 0"][1]
	if err := again.client.OpenStream(); !exhausted(err) {
		t.Errorf("a second stream: got %v, want that it is refused", err)
	}
	_ = again.Close()
	first.client.CloseStream()
	if got := fmt.Sprint(len(c.cs.known), c.cs.streams); got != "0 0" {
		t.Errorf("in the end, processes and streams are still counted: %s", got)
	}
}

// The streams of all processes together are bounded as well.
func TestStreamsOfAllProcesses(t *testing.T) {
	c := newCrowd(t, Limits{Streams: 3, ClientStreams: 2})
	var refused []bool
	open := func(peer transport.Peer) *Client {
		c.connect(peer, 1, true)
		conns := c.of[peer.String()]
		client := conns[len(conns)-1].client
		refused = append(refused, exhausted(client.OpenStream()))
		return client
	}
	first := open(user(1))
	for _, peer := range []transport.Peer{user(2), {}, {}} {
		open(peer)
	}
	first.CloseStream()
	open(user(3))
	if d := cmp.Diff([]bool{false, false, false, true, false}, refused); d != "" {
		t.Errorf("refused streams (-want +got):\n%s", d)
	}
}

// A process that closes its connections while its operations still run finds its slots taken when it comes back.
func TestProcessThatComesBack(t *testing.T) {
	c := newCrowd(t, Limits{})
	c.connect(user(1), 1, true)
	s, err := c.of["pid 1 uid 0"][0].client.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = c.of["pid 1 uid 0"][0].Close()
	c.connect(user(1), 1, true)
	again := c.of["pid 1 uid 0"][1]
	if got := again.client.running; got != 1 {
		t.Errorf("it has %d calls running, want 1", got)
	}
	_ = again.Close()
	s.Release()
	if got := len(c.cs.known); got != 0 {
		t.Errorf("in the end %d processes are still known", got)
	}
}
