// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// busy makes the agent find all processors busy, whatever they are.
const busy = -1 << 20

// crowdOf returns a crowd whose clients have a connection for each number, with so many calls open.
func crowdOf(t *testing.T, limits Limits, open ...int) (c *crowd, conns []*Conn) {
	t.Helper()
	c = newCrowd(t, limits)
	for i, streams := range open {
		peer := user(uint32(i + 1))
		c.connect(peer, 1, true)
		conn := c.of[peer.String()][0]
		conn.received(make([]byte, clientPreface))
		for stream := range streams {
			conn.received(sends(frameHeaders, byte(2*stream+1), 0))
		}
		conns = append(conns, conn)
	}
	return c, conns
}

// What a connection sends waits while a client with many calls open meets too many goroutines, until its calls end or it is
// closed; that of a client with few calls never does.
func TestBrake(t *testing.T) {
	for name, c := range map[string]struct {
		streams, handlers int
		waits             bool
	}{
		"many calls, too many goroutines": {40, busy, true},
		"many calls, few goroutines":      {40, -busy, false},
		"few calls, too many goroutines":  {32, busy, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, conns := crowdOf(t, Limits{Handlers: c.handlers, Runnable: -busy, Unread: time.Hour}, c.streams)
				came := arrives(conns[0])
				if time.Sleep(time.Second); came() == c.waits {
					t.Errorf("what the client sends waits: %v, want %v", !came(), c.waits)
				}
				for i := range c.streams - lightBytes/streamBytes {
					conns[0].sent([]byte{0, 0, 0, frameHeaders, flagEndStream, 0, 0, 0, byte(2*i + 1)})
				}
				if time.Sleep(2 * beat); !came() {
					t.Error("it waits although few calls are left")
				}
				_ = conns[0].Close()
			})
		})
	}
}

// arrives has something arrive on a connection. The result reports whether its turn has come.
func arrives(c *Conn) (came func() bool) {
	turn := make(chan struct{})
	go func() { c.Await(); close(turn) }()
	synctest.Wait()
	return func() bool {
		synctest.Wait()
		select {
		case <-turn:
			return true
		default:
			return false
		}
	}
}

// While all processors are busy, the clients take turns, and one with many connections delays only itself. A closed connection
// waits no longer, and when processors are free, none does.
func TestClientsTakeTurnsToBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, Limits{Runnable: busy})
		c.connect(user(1), 6, true)
		c.connect(user(2), 1, true)
		var flood []func() bool
		for _, conn := range c.of["pid 1 uid 0"] {
			flood = append(flood, arrives(conn))
		}
		driver := arrives(c.of["pid 2 uid 0"][0])
		find := func(limit int) {
			c.cs.brake.mu.Lock()
			defer c.cs.brake.mu.Unlock()
			c.cs.limits.Runnable = limit
		}
		served := func() (n int) {
			for _, came := range flood {
				if came() {
					n++
				}
			}
			return n
		}
		if served() != 0 || driver() {
			t.Error("something was read at once")
		}
		if time.Sleep(forgotten - beat); served() != 0 || driver() {
			t.Error("something was read before the processors were free or a while had passed")
		}
		if time.Sleep(2 * beat); served() != 1 || !driver() {
			t.Errorf("after a while, %d of the flood's connections had a turn, and the driver: %v; want 1, and true", served(), driver())
		}
		last := c.of["pid 1 uid 0"][5]
		if _ = last.Close(); !flood[5]() {
			t.Error("a closed connection waits")
		}
		if time.Sleep(forgotten - beat); served() != 3 {
			t.Errorf("after another while, %d of the flood's connections do not wait, want 3", served())
		}
		find(-busy)
		if time.Sleep(beat); slices.ContainsFunc(flood, func(came func() bool) bool { return !came() }) {
			t.Error("a connection waits although processors are free")
		}
		find(busy)
		time.Sleep(company)
		_ = arrives(last)
		time.Sleep(company + beat)
		if first, second := arrives(last), arrives(c.of["pid 1 uid 0"][4]); !first() || !second() {
			t.Error("a client that is alone takes turns with itself")
		}
	})
}

// Clients that send all the time have turns all the time. One that sends again after a while is before them, and a new process,
// of which an attacker can start many, is not.
func TestWhoseTurnIsLongestAgo(t *testing.T) {
	const flood, each = 8, 6
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, Limits{Runnable: busy})
		driver := user(flood + 1)
		c.connect(driver, 1, true)
		for i := range uint32(flood) {
			c.connect(user(i+1), each, true)
			for _, conn := range c.of[user(i+1).String()] {
				_ = arrives(conn)
			}
		}
		time.Sleep(forgotten + (flood-1)*beat) // each of them has had a turn
		c.connect(user(flood+2), 1, true)
		newcomer := arrives(c.of[user(flood+2).String()][0])
		came := arrives(c.of[driver.String()][0])
		if time.Sleep(beat); !came() {
			t.Error("the driver waits behind clients that have had turns since its last one")
		}
		if newcomer() {
			t.Error("a new process is before clients that were waiting")
		}
		if time.Sleep((flood + 1) * beat); !newcomer() {
			t.Error("a new process has no turn although all others have had one")
		}
		c.cs.DropAll()
	})
}

// The processes of a container have the turns of one. Who sends so little that it has had no turn for a while does not wait.
func TestTurnsOfAContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, Limits{Runnable: busy})
		driver := user(1)
		c.connect(driver, 1, true)
		var flood []func() bool
		for i := range uint32(20) {
			process := user(i + 2)
			process.Container = "/pod"
			c.connect(process, 1, true)
			flood = append(flood, arrives(c.of[process.String()][0]))
		}
		begin := time.Now()
		time.Sleep(forgotten + beat)
		for range 4 {
			if !arrives(c.of[driver.String()][0])() {
				t.Errorf("after %v, the driver waits", time.Since(begin))
			}
			time.Sleep(2 * forgotten)
		}
		turns := 0
		for _, came := range flood {
			if came() {
				turns++
			}
		}
		if want := int(time.Since(begin) / forgotten); turns != want {
			t.Errorf("the processes of the container had %d turns, want %d", turns, want)
		}
		c.cs.DropAll()
	})
}
