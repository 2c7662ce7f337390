// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// queue lets calls in: so many at a time, and so many of each client. Those that have to wait do so in one line a client,
// and the clients take turns, so that a client that asks for everything at once delays itself only. It is guarded by the
// lock of the clients.
type queue struct {
	running int
	lines   []*process // of the clients that wait, the next first
}

// turns are one client's calls.
type turns struct {
	running int
	waiting []*turn
}

// turn is a call that waits.
type turn struct {
	come chan struct{} // closed when the call is let in
	in   bool          // as well
}

// slot is the right of one call to run. It is given back when the call has been answered and every operation that it
// began on the node is over, whichever comes last.
type slot struct {
	clients *clients
	client  *process
	holds   atomic.Int32
}

// enter waits until the call may run. Its error says that it may not, or that the caller gave up.
func (cs *clients) enter(ctx context.Context, client *process, s *slot) error {
	cs.mu.Lock()
	if cs.queue.running < cs.limits.Calls && client.turns.running < cs.limits.ClientCalls { // then it has none waiting
		cs.let(client)
		cs.mu.Unlock()
		s.begin(cs, client)
		return nil
	}
	if len(client.turns.waiting) >= cs.limits.ClientWaiting {
		cs.mu.Unlock()
		return cs.tooMany(fmt.Sprintf("%d calls of this process are waiting already", cs.limits.ClientWaiting))
	}
	t := &turn{come: make(chan struct{})}
	client.turns.waiting = append(client.turns.waiting, t)
	if len(client.turns.waiting) == 1 {
		cs.queue.lines = append(cs.queue.lines, client)
	}
	cs.mu.Unlock()
	cs.metrics.queued.Inc()
	defer cs.metrics.queued.Dec()

	patience := time.NewTimer(cs.limits.Wait)
	defer patience.Stop()
	var refusal error
	select {
	case <-t.come:
	case <-ctx.Done():
		refusal = ctx.Err()
	case <-patience.C:
		refusal = cs.tooMany(fmt.Sprintf("the call waited %v for its turn", cs.limits.Wait))
	}
	if refusal != nil && cs.withdraw(client, t) {
		return refusal
	}
	s.begin(cs, client) // also when its turn came at the last moment
	return nil
}

// tooMany is the error of a call that is not let in.
func (cs *clients) tooMany(why string) error {
	return withReason(status.New(codes.ResourceExhausted, fmt.Sprintf(
		"%s: the agent runs %d calls at a time and %d of one process, and those before it have not ended; try again later",
		why, cs.limits.Calls, cs.limits.ClientCalls)), "TOO_MANY_CALLS", nil)
}

// let counts a call that runs from now on.
func (cs *clients) let(client *process) {
	cs.queue.running++
	client.turns.running++
	cs.metrics.places.Inc()
}

// withdraw takes a call out of its queue, unless it was let in meanwhile.
func (cs *clients) withdraw(client *process, t *turn) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if t.in {
		return false
	}
	for i, waiting := range client.turns.waiting {
		if waiting == t {
			client.turns.waiting = append(client.turns.waiting[:i:i], client.turns.waiting[i+1:]...)
			break
		}
	}
	if len(client.turns.waiting) == 0 {
		cs.unqueue(client)
	}
	return true
}

func (cs *clients) unqueue(client *process) {
	for i, q := range cs.queue.lines {
		if q == client {
			cs.queue.lines = append(cs.queue.lines[:i:i], cs.queue.lines[i+1:]...)
			return
		}
	}
}

// done ends a call, and lets in whoever is next.
func (cs *clients) done(client *process) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.queue.running--
	client.turns.running--
	cs.metrics.places.Dec()
	cs.forget(client)
	for cs.queue.running < cs.limits.Calls {
		next := cs.next()
		if next == nil {
			return
		}
		t := next.turns.waiting[0]
		next.turns.waiting = next.turns.waiting[1:]
		cs.unqueue(next)
		if len(next.turns.waiting) > 0 {
			cs.queue.lines = append(cs.queue.lines, next) // behind the others
		}
		cs.let(next)
		t.in = true
		close(t.come)
	}
}

// next is the first client in the queue that may run one more call.
func (cs *clients) next() *process {
	for _, q := range cs.queue.lines {
		if q.turns.running < cs.limits.ClientCalls {
			return q
		}
	}
	return nil
}

// begin makes the slot the call's own.
func (s *slot) begin(cs *clients, client *process) {
	s.clients, s.client = cs, client
	s.holds.Store(1)
}

// hold keeps the slot for one more.
func (s *slot) hold() { s.holds.Add(1) }

// Release gives up one hold on the slot, and with the last one the slot.
func (s *slot) Release() {
	if s.holds.Add(-1) == 0 {
		s.clients.done(s.client)
	}
}
