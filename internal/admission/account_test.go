// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/transport"
)

// mortal is a process that ends when the test says so.
type mortal struct{ ended, closed bool }

func (m *mortal) Ended() bool  { return m.ended }
func (m *mortal) Close() error { m.closed = true; return nil }

// leave has a new process make calls that do not end, and end itself. It returns how many of the calls ran.
func (g *gated) leave(t *testing.T, pid uint32, container string, calls int) (ran int) {
	t.Helper()
	process := &mortal{}
	g.mu.Lock()
	c := g.of(transport.Peer{PID: pid, Identity: transport.Identity{Container: container}}, process)
	g.mu.Unlock()
	for range calls {
		if one := <-g.call(t.Context(), c); one.err == nil {
			ran++
		}
	}
	process.ended = true
	return ran
}

// Processes that come one after the other, take all places that they get and end, get ever fewer, and never the last: these are
// for processes that were there before.
func TestPlacesAreLeftForThoseWhoWereThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(Limits{Wait: time.Millisecond})
		driver := g.client(1)
		var got []int
		for i := range uint32(100) {
			got = append(got, g.leave(t, 100+i, "", 257))
		}
		if d := cmp.Diff([]int{256, 256, 7, 7, 7, 7}, got[:6]); d != "" {
			t.Errorf("places of the first processes (-want +got):\n%s", d)
		}
		if got[60] == 0 || got[99] != 0 || g.running > 1024-128+1 {
			t.Errorf("%d places are taken; each process got %v", g.running, got)
		}
		for range leastShare {
			if one := <-g.call(t.Context(), driver); one.err != nil {
				t.Errorf("the driver that was there before: %v", one.err)
			}
		}
	})
}

// The processes of a container have together what one process may have, whether they have ended or not; another container's
// find places.
func TestPlacesOfAContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(Limits{Wait: time.Millisecond})
		var got []int
		for i := range uint32(4) {
			got = append(got, g.leave(t, 10+i, "one", 100))
		}
		for i := range uint32(4) {
			got = append(got, g.leave(t, 20+i, "two", 100))
		}
		for i := range uint32(5) {
			got = append(got, g.leave(t, 30+i, "three", 100))
		}
		if d := cmp.Diff([]int{100, 100, 56, 0, 100, 100, 56, 0, 7, 7, 7, 7, 2}, got); d != "" {
			t.Errorf("places of the processes of three containers (-want +got):\n%s", d)
		}
		if got := g.leave(t, 40, "four", 3); got != 3 {
			t.Errorf("a fourth container got %d places for 3 calls", got)
		}
	})
}

// The processes of a container are one client elsewhere, too; those of the node itself and of the agent's own are not.
func TestWhatIsAContainer(t *testing.T) {
	cs := New(Limits{Streams: 100, ClientStreams: 2}, klog.Background(), nil)
	cs.own = "agent"
	for container, want := range map[string]string{"driver": "driver", "agent": "", "/": "", transport.NoContainer: "", "": ""} {
		var clients []any
		var refused []bool
		cs.mu.Lock()
		for pid := range uint32(3) {
			c := cs.of(transport.Peer{PID: 1 + pid, UID: nil, Identity: transport.Identity{Container: container}}, nil)
			cs.mu.Unlock()
			clients = append(clients, c.slot().Client())
			refused = append(refused, c.OpenStream() != nil)
			cs.mu.Lock()
			if c.container != want {
				t.Errorf("in %q: the container is %q, want %q", container, c.container, want)
			}
		}
		clear(cs.known)
		cs.mu.Unlock()
		if one := clients[0] == clients[1]; one != (want != "") {
			t.Errorf("in %q: two processes are one client: %v", container, one)
		}
		if d := cmp.Diff([]bool{false, false, want != ""}, refused); d != "" {
			t.Errorf("in %q: refused streams (-want +got):\n%s", container, d)
		}
	}
}

// A process that has the number of one that ended has nothing of what that one left.
func TestANumberComesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(Limits{Calls: 100, ClientCalls: 4, Wait: time.Millisecond})
		if first, second := g.leave(t, 1, "", 5), g.leave(t, 1, "", 5); first != 4 || second != 4 {
			t.Errorf("the first process got %d places and the second %d, want 4 each", first, second)
		}
		alive := &mortal{}
		g.mu.Lock()
		defer g.mu.Unlock()
		c, again := g.of(transport.Peer{PID: 2}, alive), &mortal{}
		if g.of(transport.Peer{PID: 2}, again) != c || !again.closed || alive.closed {
			t.Error("a process that connects again is another client, or is held twice or not at all")
		}
	})
}

// When too many connections are open, those go first whose process has ended, whoever uses them, then those of the container
// that has most.
func TestConnectionsOfEndedProcesses(t *testing.T) {
	c := newCrowd(t, Limits{ClientConnections: 100, Connections: 12})
	c.connect(user(1), 4, true) // a driver
	children := []*mortal{{}, {}}
	for i, child := range children {
		c.connectHeld(user(uint32(20+i)), child, 3, true)
		child.ended = true
	}
	c.connect(user(3), 5, true)
	handedOver := &mortal{ended: true} // before it was accepted
	other := 1000
	c.connectHeld(transport.Peer{PID: 1, UID: &other}, handedOver, 4, true) // the driver's number, but none of its connections
	want := map[string]string{"pid 1 uid 0": "++++", "pid 20 uid 0": "---", "pid 21 uid 0": "---", "pid 3 uid 0": "+++++", "pid 1 uid 1000": "-+++"}
	if d := cmp.Diff(want, c.open()); d != "" {
		t.Errorf("connections (-want +got):\n%s", d)
	}
	if got := c.cs.known[1].tally.conns; got != 4 {
		t.Errorf("the driver is said to have %d connections, want 4", got)
	}
	for _, child := range append(children, handedOver) {
		if !child.closed {
			t.Error("a process that has ended is still held")
		}
	}
	for _, conns := range c.of {
		for _, one := range conns {
			_ = one.Close()
		}
	}
	if got := fmt.Sprint(len(c.cs.ended), c.cs.tally); got != "0 {0 0 0 0 0}" {
		t.Errorf("in the end %s is still counted", got)
	}
}

// A container with many processes that have few connections each does not push out those of a process that has more.
func TestConnectionsOfAContainer(t *testing.T) {
	c := newCrowd(t, Limits{ClientConnections: 100, Connections: 20})
	c.connect(user(1), 6, true)
	for i := range uint32(10) {
		peer := user(100 + i)
		peer.Container = "crowd"
		c.connect(peer, 3, true)
	}
	if got := c.open()["pid 1 uid 0"]; got != "++++++" {
		t.Errorf("the connections of the driver: %s, want all open", got)
	}
}

// Calls on connections whose processes end wait in one line, and those that run are one client's.
func TestCallsThatWaitWhileTheirProcessesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(Limits{Calls: 100, ClientCalls: 2, Wait: time.Minute})
		var running []*Slot
		var waiting []<-chan outcome
		for pid := range uint32(2) {
			process := &mortal{}
			g.mu.Lock()
			c := g.of(transport.Peer{PID: 1 + pid}, process)
			g.mu.Unlock()
			for range 2 {
				running = append(running, (<-g.call(t.Context(), c)).slot)
			}
			waiting = append(waiting, g.call(t.Context(), c))
			process.ended = true
		}
		g.mu.Lock()
		g.buryAll()
		lines, ended := len(g.lines), g.ofEnded("").running
		g.mu.Unlock()
		if lines != 1 || ended != 4 {
			t.Errorf("%d lines, %d calls of ended processes run, want 1 and 4", lines, ended)
		}
		for _, s := range running[:2] {
			s.Release()
		}
		synctest.Wait()
		if len(waiting[0])+len(waiting[1]) != 0 {
			t.Error("a third call runs while two do")
		}
		running[2].Release()
		for range waiting {
			synctest.Wait()
			i := slices.IndexFunc(waiting, func(c <-chan outcome) bool { return len(c) > 0 })
			if i < 0 {
				t.Fatal("no other call runs although there is a place")
			}
			(<-waiting[i]).slot.Release()
		}
		running[3].Release()
		if len(g.lines) != 0 || len(g.ended) != 0 {
			t.Errorf("in the end there are %d lines and %d accounts of ended processes", len(g.lines), len(g.ended))
		}
	})
}
