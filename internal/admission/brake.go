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
// while many goroutines wait for a processor, what arrived waits in a line for each client, or container of clients, and the lines
// take turns. Next is the one whose last turn is longest ago, so one who sends little waits for no round of those who send all
// the time; and within it likewise. What others sent before still waits for processors then, which may take long. So who has had
// no turn for a while has one without regard to that.
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
	beat      = time.Millisecond       // between two rounds of turns
	glance    = 200 * time.Microsecond // for which the number of waiting goroutines is believed
	perTurn   = 4                      // goroutines that a turn makes: 512 bytes, see server, are a few calls
	forgotten = 2 * time.Millisecond   // after which a line has a turn however many goroutines wait, one line in each beat
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
	spare time.Time // when a line last had a turn however many goroutines waited
	lines []*line   // with something that waits, the one first whose last turn is longest ago
}

// line is the clients of a container, or one that is in none.
type line struct {
	turned  uint64    // its last turn, at first the last of all: a newcomer is not before others
	served  time.Time // when that was
	clients []*Client // with something that waits, ordered as lines are
}

func (b *brake) newLine() line { return line{turned: b.turns.Load(), served: time.Now()} }

func (l *line) lastTurn() uint64   { return l.turned }
func (c *Client) lastTurn() uint64 { return c.turned }

// queued returns the queue with one more, behind those whose last turn was as long ago.
func queued[T interface{ lastTurn() uint64 }](queue []T, one T) []T {
	i := len(queue)
	for i > 0 && queue[i-1].lastTurn() > one.lastTurn() {
		i--
	}
	return slices.Insert(queue, i, one)
}

// Await waits until the agent gets to a new connection, or to what one has sent. Most of the time it does at once.
func (c *Conn) Await() {
	client, b := c.client, &c.client.all.brake
	if !client.crowded() && !c.mustWait() {
		return
	}
	turn := make(chan struct{})
	b.mu.Lock()
	if len(c.line.clients) == 0 && b.owes(c.line) && !c.mustWait() {
		b.spare = time.Now()
		b.serve(client, c.line)
		b.mu.Unlock()
		return
	}
	c.turn = turn
	if client.arrived = append(client.arrived, c); len(client.arrived) == 1 {
		if len(b.lines) == 0 {
			time.AfterFunc(beat, client.all.round)
		}
		client.in = c.line
		b.join(client)
	}
	b.mu.Unlock()
	<-turn
}

// join adds a client to the line that it is in.
func (b *brake) join(client *Client) {
	l := client.in
	if len(l.clients) == 0 {
		b.lines = queued(b.lines, l)
	}
	l.clients = queued(l.clients, client)
}

// leave takes a client out of its line.
func (b *brake) leave(client *Client) {
	l := client.in
	l.clients = slices.DeleteFunc(l.clients, func(one *Client) bool { return one == client })
	if len(l.clients) == 0 {
		b.lines = slices.DeleteFunc(b.lines, func(one *line) bool { return one == l })
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
		b.leave(client)
	}
}

// owes reports whether a line has had no turn for so long that it has one now, however many goroutines wait.
func (b *brake) owes(l *line) bool {
	return time.Since(l.served) >= forgotten && time.Since(b.spare) >= beat
}

// serve notes that a client has a turn.
func (b *brake) serve(client *Client, l *line) {
	client.turned = b.turns.Add(1)
	l.turned, l.served = client.turned, time.Now()
}

// round gives clients turns until enough goroutines have work.
func (cs *Clients) round() {
	b := &cs.brake
	b.mu.Lock()
	defer b.mu.Unlock()
	room := (cs.limits.Runnable*runtime.GOMAXPROCS(0) - runnable()) / perTurn
	var skipped []*Client
	for len(b.lines) > 0 && (room > 0 || b.owes(b.lines[0])) {
		client := b.lines[0].clients[0]
		b.leave(client)
		next := client.arrived[0]
		if next.mustWait() {
			skipped = append(skipped, client)
			continue
		}
		close(next.turn)
		next.turn = nil
		client.arrived = slices.Delete(client.arrived, 0, 1)
		if room--; room < 0 {
			b.spare = time.Now()
		}
		b.turned(client)
	}
	for _, client := range skipped {
		b.join(client)
	}
	if len(b.lines) > 0 {
		time.AfterFunc(beat, cs.round)
	}
}

// turned notes that a client had its turn, and puts it and its line behind the others.
func (b *brake) turned(client *Client) {
	l := client.in
	b.serve(client, l)
	if len(l.clients) > 0 {
		b.lines = queued(slices.DeleteFunc(b.lines, func(one *line) bool { return one == l }), l)
	}
	if len(client.arrived) > 0 {
		b.join(client)
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
