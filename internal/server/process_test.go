// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"
)

// named is a connection of a process.
type named struct {
	net.Conn
	name string
}

func (n named) RemoteAddr() net.Addr { return n }
func (n named) Network() string      { return "process" }
func (n named) String() string       { return n.name }

// crowd is connections of several processes, by name.
type crowd struct {
	t  *testing.T
	cs *clients
	l  *listener
	of map[string][]*conn
}

func newCrowd(t *testing.T, limits Limits) *crowd {
	t.Helper()
	cs := newClients(limits.complete(), klog.Background(), nil)
	return &crowd{t: t, cs: cs, l: track(nil, cs), of: map[string][]*conn{}}
}

// connect adds connections of a process that have spoken, or have not.
func (c *crowd) connect(name string, count int, spoke bool) {
	c.t.Helper()
	for range count {
		ours, theirs := net.Pipe()
		c.t.Cleanup(func() { _ = theirs.Close() })
		added := &conn{Conn: ours, owner: c.l, addr: named{ours, name}}
		added.spoke.Store(spoke)
		c.l.take(added)
		c.cs.admit(added)
		c.of[name] = append(c.of[name], added)
	}
}

// open tells which of the connections are open: "+" for each that is, "-" for each that was dropped.
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

func TestConnectionsOfOneProcess(t *testing.T) {
	c := newCrowd(t, Limits{ClientConnections: 4, Connections: 100})
	c.connect("pid 1 uid 0", 2, true)
	c.connect("pid 1 uid 0", 2, false) // probes that nobody closed
	c.connect("pid 1 uid 0", 2, true)  // push those out
	c.connect("pid 1 uid 0", 1, true)  // and is one too many itself
	c.connect("pid 2 uid 0", 3, false)
	want := map[string]string{"pid 1 uid 0": "++--++-", "pid 2 uid 0": "+++"}
	if d := cmp.Diff(want, c.open()); d != "" {
		t.Errorf("connections (-want +got):\n%s", d)
	}
	open, dropped := testutil.ToFloat64(c.cs.metrics.connections), testutil.ToFloat64(c.cs.metrics.dropped)
	if got := fmt.Sprint(c.cs.count(), open, dropped); got != "7 7 3" {
		t.Errorf("open, and open and dropped in the metrics: got %s, want 7 7 3", got)
	}
	for _, conns := range c.of {
		for _, one := range conns {
			_ = one.Close()
		}
	}
	if got := fmt.Sprint(c.cs.count(), len(c.cs.known)); got != "0 0" {
		t.Errorf("when all are closed, connections and processes are counted: %s", got)
	}
}

// When no more connections can be open, who has most of them loses one; a newcomer with few is let in.
func TestConnectionsOfAllProcesses(t *testing.T) {
	c := newCrowd(t, Limits{ClientConnections: 100, Connections: 10})
	c.connect("pid 1 uid 0", 2, true)
	c.connect("pid 666 uid 0", 20, true)
	c.connect("pid 2 uid 0", 3, true)
	c.connect("pid 1 uid 0", 1, true)
	want := map[string]string{
		"pid 1 uid 0": "+++", "pid 2 uid 0": "+++",
		"pid 666 uid 0": "++++----------------",
	}
	if d := cmp.Diff(want, c.open()); d != "" {
		t.Errorf("connections (-want +got):\n%s", d)
	}
}

// Where the system does not name the process, one connection knows nothing of another.
func TestConnectionsOfUnknownProcesses(t *testing.T) {
	c := newCrowd(t, Limits{ClientConnections: 1, Connections: 100})
	c.connect("unknown process", 3, true)
	if d := cmp.Diff(map[string]string{"unknown process": "+++"}, c.open()); d != "" {
		t.Errorf("connections (-want +got):\n%s", d)
	}
}

// A process is its number, whatever else the system says of it at one time and not at another.
func TestConnectionsOfAProcessWhoseNameChanges(t *testing.T) {
	c := newCrowd(t, Limits{ClientConnections: 2, Connections: 100})
	c.connect("pid 7", 1, true)
	c.connect(`pid 7 C:\a driver.exe`, 2, true)
	c.connect("pid 7 uid 1000", 1, true)
	c.connect("pid 71", 2, true)
	c.connect("pid 0 uid 0", 3, true) // not shown to the agent: nothing says that they are one
	want := map[string]string{"pid 7": "+", `pid 7 C:\a driver.exe`: "+-", "pid 7 uid 1000": "-", "pid 71": "++", "pid 0 uid 0": "+++"}
	if d := cmp.Diff(want, c.open()); d != "" {
		t.Errorf("connections (-want +got):\n%s", d)
	}
}

// A process that closes its connections keeps the places of its streams until they are over.
func TestProcessThatComesBackForStreams(t *testing.T) {
	c := newCrowd(t, Limits{ClientStreams: 1})
	c.connect("pid 1 uid 0", 1, true)
	first := c.of["pid 1 uid 0"][0]
	if err := c.cs.openStream(first.process); err != nil {
		t.Fatal(err)
	}
	_ = first.Close()
	c.connect("pid 1 uid 0", 1, true)
	again := c.of["pid 1 uid 0"][1]
	if err := c.cs.openStream(again.process); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a second stream: got %v, want ResourceExhausted", err)
	}
	_ = again.Close()
	c.cs.closeStream(first.process)
	if got := fmt.Sprint(len(c.cs.known), c.cs.streams); got != "0 0" {
		t.Errorf("in the end, processes and streams are counted: %s", got)
	}
}

// The streams of all processes together are bounded as well.
func TestStreamsOfAllProcesses(t *testing.T) {
	c := newCrowd(t, Limits{Streams: 3, ClientStreams: 2})
	var got []codes.Code
	for _, name := range []string{"pid 1", "pid 2", "unknown process", "unknown process"} {
		c.connect(name, 1, true)
		of := c.of[name]
		got = append(got, status.Code(c.cs.openStream(of[len(of)-1].process)))
	}
	c.cs.closeStream(c.of["pid 1"][0].process)
	got = append(got, status.Code(c.cs.openStream(c.of["pid 2"][0].process)))
	if d := cmp.Diff([]codes.Code{codes.OK, codes.OK, codes.OK, codes.ResourceExhausted, codes.OK}, got); d != "" {
		t.Errorf("streams (-want +got):\n%s", d)
	}
}

// A process that closes its connections while what it began still runs finds its places taken when it comes back.
func TestProcessThatComesBack(t *testing.T) {
	c := newCrowd(t, Limits{})
	c.connect("pid 1 uid 0", 1, true)
	s := &slot{}
	if err := c.cs.enter(t.Context(), c.of["pid 1 uid 0"][0].process, s); err != nil {
		t.Fatal(err)
	}
	_ = c.of["pid 1 uid 0"][0].Close()
	c.connect("pid 1 uid 0", 1, true)
	again := c.of["pid 1 uid 0"][1]
	if got := again.process.turns.running; got != 1 {
		t.Errorf("it has %d calls running, want 1", got)
	}
	_ = again.Close()
	s.Release()
	if got := len(c.cs.known); got != 0 {
		t.Errorf("in the end %d processes are known", got)
	}
}
