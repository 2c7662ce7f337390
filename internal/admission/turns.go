// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/node"
)

// Calls are let in so many at a time, and so many of each client. Those that have to wait do so in one line a client, and
// the clients take turns, so that a client that asks for everything at once delays itself only.

// A Slot is the right of one call to run. It is given back when the call has been answered and every operation that it
// began on the node is over, whichever comes last.
type Slot struct {
	client *Client
	holds  atomic.Int32
}

// Enter waits until a call of the client may run. Its error says that it may not, or that the caller gave up.
func (c *Client) Enter(ctx context.Context) (*Slot, error) {
	cs := c.all
	cs.mu.Lock()
	if cs.running < cs.limits.Calls && c.running < cs.limits.ClientCalls { // then it has none waiting
		c.let()
		cs.mu.Unlock()
		return c.slot(), nil
	}
	if len(c.waiting) >= cs.limits.ClientWaiting {
		cs.mu.Unlock()
		return nil, cs.tooMany(fmt.Sprintf("%d calls of this process are waiting already", cs.limits.ClientWaiting))
	}
	turn := make(chan struct{}) // closed when it comes
	c.waiting = append(c.waiting, turn)
	if len(c.waiting) == 1 {
		cs.lines = append(cs.lines, c)
	}
	cs.mu.Unlock()
	cs.metrics.queued.Inc()
	defer cs.metrics.queued.Dec()

	patience := time.NewTimer(cs.limits.Wait)
	defer patience.Stop()
	var refusal error
	select {
	case <-turn:
	case <-ctx.Done():
		refusal = ctx.Err()
	case <-patience.C:
		refusal = cs.tooMany(fmt.Sprintf("the call waited %v for its turn", cs.limits.Wait))
	}
	if refusal != nil && c.withdraw(turn) {
		return nil, refusal
	}
	return c.slot(), nil // also when its turn came at the last moment
}

// tooMany is the error of a call that is not let in.
func (cs *Clients) tooMany(why string) error {
	return &node.Error{Class: node.ResourceExhausted, Reason: "TOO_MANY_CALLS", Message: fmt.Sprintf(
		"%s: the agent runs %d calls at a time and %d of one process, and those before it have not ended; try again later",
		why, cs.limits.Calls, cs.limits.ClientCalls)}
}

// let counts a call that runs from now on.
func (c *Client) let() {
	c.all.running++
	c.running++
	c.all.metrics.places.Inc()
}

// withdraw takes a call out of its line, unless it was let in meanwhile.
func (c *Client) withdraw(turn chan struct{}) bool {
	cs := c.all
	cs.mu.Lock()
	defer cs.mu.Unlock()
	i := slices.Index(c.waiting, turn)
	if i < 0 {
		return false
	}
	c.waiting = slices.Delete(c.waiting, i, i+1)
	if len(c.waiting) == 0 {
		cs.lines = slices.DeleteFunc(cs.lines, func(line *Client) bool { return line == c })
	}
	return true
}

// done ends a call, and lets in whoever is next: of the first client in the line that may run one more.
func (c *Client) done() {
	cs := c.all
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.running--
	c.running--
	cs.metrics.places.Dec()
	c.forget()
	for cs.running < cs.limits.Calls {
		i := slices.IndexFunc(cs.lines, func(line *Client) bool { return line.running < cs.limits.ClientCalls })
		if i < 0 {
			return
		}
		next := cs.lines[i]
		cs.lines = slices.Delete(cs.lines, i, i+1)
		turn := next.waiting[0]
		next.waiting = next.waiting[1:]
		if len(next.waiting) > 0 {
			cs.lines = append(cs.lines, next) // behind the others
		}
		next.let()
		close(turn)
	}
}

// slot is the slot of a call that was let in.
func (c *Client) slot() *Slot {
	s := &Slot{client: c}
	s.holds.Store(1)
	return s
}

// Hold keeps the slot for one more.
func (s *Slot) Hold() { s.holds.Add(1) }

// Release gives up one hold on the slot, and with the last one the slot.
func (s *Slot) Release() {
	if s.holds.Add(-1) == 0 {
		s.client.done()
	}
}
