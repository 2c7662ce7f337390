// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"sync"
	"time"
)

// gRPC takes a call for finished as soon as its answer is queued. A client that gives no window, or does not read, keeps
// what the agent holds for the call all the same. So a connection looks at the frames that pass and knows which streams
// are open: from the first frame of the client's until the last one of the agent's has been written, or either resets it.

// streamBytes is what an open stream costs besides what the client sent: the states of two layers, and a goroutine.
const streamBytes = 16 << 10

// wire is the streams of a connection, as its frames show them. Clients.mu guards it.
type wire struct {
	in, out frames
	newest  uint32         // stream
	open    map[uint32]int // what each holds, in bytes; nil: none is open, as of most connections
	held    int            // the sum
	active  int            // calls and streams that a handler is at work on
	unread  int            // open streams without a handler: half a request, or an answer that is not taken
	stall   *time.Timer    // running while there may be unread ones
	moved   time.Time      // when a stream was last finished, or the first one came to be unread
}

func newWire() wire {
	return wire{in: frames{skip: clientPreface}}
}

// received counts what the client sent. It returns a connection that is to be closed, and what that holds, if it was too
// much.
func (c *Conn) received(b []byte) (victim *Conn, held int) {
	cs := c.client.all
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if _, open := cs.conns[c]; !open {
		return nil, 0
	}
	c.heard = time.Now()
	c.wire.in.pass(b, func(f frame) {
		switch f.kind {
		case frameHeaders:
			if f.stream > c.wire.newest {
				c.wire.newest = f.stream
				if c.wire.open == nil {
					c.wire.open = map[uint32]int{}
				}
				c.wire.open[f.stream] = 0
				c.hold(f.stream, streamBytes)
			}
			c.hold(f.stream, f.length)
		case frameData, frameContinuation:
			c.hold(f.stream, f.length)
		case frameResetStream:
			c.finished(f.stream)
		}
	})
	c.recount()
	switch {
	case c.client.account.held > cs.limits.ClientBytes:
		victim = c.client.account.fullest()
	case cs.held > cs.limits.Bytes:
		cs.buryAll()
		victim = cs.heaviest(c.client.account, func(t *tally) int { return t.held }).fullest()
	default:
		return nil, 0
	}
	return victim, victim.wire.held
}

// sent counts what the agent has written.
func (c *Conn) sent(b []byte) {
	cs := c.client.all
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c.wire.out.pass(b, func(f frame) {
		ends := (f.kind == frameData || f.kind == frameHeaders) && f.flags&flagEndStream != 0
		if ends || f.kind == frameResetStream {
			c.finished(f.stream)
		}
	})
	c.recount()
}

// Begin notes that a handler begins its work on a stream of the connection, until it calls end: from then on, the client can
// take the answer. When the stream's context ends, so does the note: of a stream that its client has reset, nothing is open.
func (c *Conn) Begin(stream context.Context) (end func()) {
	c.work(1)
	once := sync.OnceFunc(func() { c.work(-1) })
	stop := context.AfterFunc(stream, once)
	return func() { stop(); once() }
}

func (c *Conn) work(change int) {
	cs := c.client.all
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c.wire.active += change
	c.recount()
	if c.wire.unread > 0 && c.wire.stall == nil {
		c.wire.stall = time.AfterFunc(cs.limits.Unread, c.stalled)
	}
}

// stalled closes the connection if for some time no stream was finished although some could be.
func (c *Conn) stalled() {
	cs := c.client.all
	cs.mu.Lock()
	c.wire.stall = nil
	_, open := cs.conns[c]
	rest := cs.limits.Unread - time.Since(c.wire.moved)
	if !open || c.wire.unread <= 0 || rest > 0 {
		if open && c.wire.unread > 0 {
			c.wire.stall = time.AfterFunc(rest, c.stalled)
		}
		cs.mu.Unlock()
		return
	}
	unread := c.wire.unread
	cs.mu.Unlock()
	cs.drops(c, "answers are not taken", "streams", unread)
}

// hold adds to what an open stream holds. A closed one holds nothing: what arrives for it is thrown away.
func (c *Conn) hold(stream uint32, bytes int) {
	if _, open := c.wire.open[stream]; open {
		c.wire.open[stream] += bytes
		c.charge(bytes)
	}
}

func (c *Conn) finished(stream uint32) {
	if held, open := c.wire.open[stream]; open {
		if delete(c.wire.open, stream); len(c.wire.open) == 0 {
			c.wire.open = nil
		}
		c.charge(-held)
		c.wire.moved = time.Now()
	}
}

func (c *Conn) charge(bytes int) {
	c.wire.held += bytes
	c.client.count(func(t *tally) { t.held += bytes })
}

// busy reports whether the connection has a call or a stream.
func (w *wire) busy() bool { return len(w.open) > 0 || w.active > 0 }

// recount finds out how many streams wait for their client, and lets in calls that waited because of them.
func (c *Conn) recount() {
	unread := max(len(c.wire.open)-c.wire.active, 0)
	change := unread - c.wire.unread
	if c.wire.unread == 0 && unread > 0 {
		c.wire.moved = time.Now()
	}
	c.wire.unread = unread
	c.client.count(func(t *tally) { t.unread += change })
	if change < 0 {
		c.client.all.advance()
	}
}

// closed takes back what a connection held.
func (c *Conn) closed() {
	c.charge(-c.wire.held)
	clear(c.wire.open)
	c.recount()
	if c.wire.stall != nil {
		c.wire.stall.Stop()
	}
}
