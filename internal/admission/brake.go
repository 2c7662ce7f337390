// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// What a client sends is work for the agent: goroutines that decode it, call, answer. Clients can send more than the agent
// gets done, and everything that has begun then waits for a processor behind everything else: with hundreds of goroutines in
// front of each step of a call, a read that takes half a millisecond took a tenth of a second. So little is begun at a time:
// while many goroutines wait for a processor, what arrived waits in a line for each client, and the clients take turns. Next is
// the one whose last turn is longest ago, so one who sends little waits for no round of those who send all the time.
//
// A call also costs a goroutine until its handler has returned, when its connection is gone, too. A client that sends
// calls, loses the connection because they hold too much, and comes back, leaves more of them behind than the machine ends
// in that time, and they count for nobody. So while there are very many, clients with many open calls have no turn at all.

// connGoroutines is how many goroutines gRPC has for a connection by itself.
const connGoroutines = 3

// lightBytes is what a client's open streams may hold to have turns at any time: those of 32 calls, as a driver has them at
// most when a node drains.
const lightBytes = 32 * streamBytes

const (
	beat       = time.Millisecond       // between two rounds of turns
	glance     = 200 * time.Microsecond // for which the number of waiting goroutines is believed
	perTurn    = 4                      // goroutines that a turn makes: 512 bytes, see server, are a few calls
	leastTurns = 2                      // of a round, however many goroutines wait
)

// company is how long a client counts as there after the last time that it sent something. One that is alone has all
// processors to itself and takes no turns with anybody.
const company = 100 * time.Millisecond

// brake is the lines of what arrived.
type brake struct {
	last    atomic.Pointer[Client] // that sent something
	changed atomic.Int64           // when it last was another one than before, in Unix nanoseconds
	looked  atomic.Int64           // when crowded last counted, likewise
	full    atomic.Bool            // whether there were many

	turns atomic.Uint64 // so far

	mu    sync.Mutex
	lines []*Client // with something that waits, the one first whose last turn is longest ago
}

// Await waits until the agent gets to a new connection, or to what one has sent. Most of the time it does at once.
func (c *Conn) Await() {
	client, b := c.client, &c.client.all.brake
	if !client.crowded() && !c.mustWait() {
		return
	}
	turn := make(chan struct{})
	b.mu.Lock()
	c.turn = turn
	if client.arrived = append(client.arrived, c); len(client.arrived) == 1 {
		if b.join(client); len(b.lines) == 1 {
			time.AfterFunc(beat, client.all.round)
		}
	}
	b.mu.Unlock()
	<-turn
}

// join adds a client to the lines, behind those whose last turn was as long ago.
func (b *brake) join(client *Client) {
	b.lines = append(b.lines, client)
	for i := len(b.lines) - 1; i > 0 && b.lines[i-1].turned > client.turned; i-- {
		b.lines[i-1], b.lines[i] = b.lines[i], b.lines[i-1]
	}
}

// hurry ends the wait of a connection that was closed.
func (c *Conn) hurry() {
	client, b := c.client, &c.client.all.brake
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.turn == nil {
		return
	}
	close(c.turn)
	c.turn = nil
	client.arrived = slices.DeleteFunc(client.arrived, func(one *Conn) bool { return one == c })
	if len(client.arrived) == 0 {
		b.lines = slices.DeleteFunc(b.lines, func(line *Client) bool { return line == client })
	}
}

// round gives clients turns until enough goroutines have work.
func (cs *Clients) round() {
	b := &cs.brake
	b.mu.Lock()
	defer b.mu.Unlock()
	room := max(leastTurns, (cs.limits.Runnable*runtime.GOMAXPROCS(0)-runnable())/perTurn)
	for skipped := 0; room > 0 && skipped < len(b.lines); {
		client := b.lines[0]
		b.lines = slices.Delete(b.lines, 0, 1)
		client.turned = b.turns.Add(1)
		next := client.arrived[0]
		if next.mustWait() {
			b.lines = append(b.lines, client)
			skipped++
			continue
		}
		close(next.turn)
		next.turn = nil
		if client.arrived = slices.Delete(client.arrived, 0, 1); len(client.arrived) > 0 {
			b.lines = append(b.lines, client) // behind the others
		}
		room--
		skipped = 0
	}
	if len(b.lines) > 0 {
		time.AfterFunc(beat, cs.round)
	}
}

// crowded reports whether the client shares the processors with another one and many goroutines wait for them.
func (c *Client) crowded() bool {
	b, now := &c.all.brake, time.Now().UnixNano()
	if b.last.Load() != c {
		b.last.Store(c)
		b.changed.Store(now)
	}
	if now-b.changed.Load() > int64(company) {
		return false
	}
	if looked := b.looked.Load(); now-looked >= int64(glance) && b.looked.CompareAndSwap(looked, now) {
		b.full.Store(runnable() > c.all.limits.Runnable*runtime.GOMAXPROCS(0))
	}
	return b.full.Load()
}

// runnable returns how many goroutines wait for a processor.
func runnable() int {
	s := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}
	metrics.Read(s)
	return int(s[0].Value.Uint64())
}

// mustWait reports whether there are too many goroutines and the client has many calls open.
func (c *Conn) mustWait() bool {
	cs := c.client.all
	goroutines := runtime.NumGoroutine()
	if goroutines <= cs.limits.Handlers {
		return false // most of the time; without the lock
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	_, open := cs.conns[c]
	return open && c.client.account.held > lightBytes && goroutines-connGoroutines*len(cs.conns) > cs.limits.Handlers
}
