// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
)

// A limited number of calls run at a time, in all and of each client. The others wait in one line per client, and the
// clients take turns, so that a client with many calls at once delays only itself.

// A Slot is the right of one call to run. It is given back when the call has been answered and all operations that it
// began on the node are over.
type Slot struct {
	client *Client
	holds  atomic.Int32
}

// Enter waits until a call of the client may run. It fails when the call is refused or its caller gave up.
func (c *Client) Enter(ctx context.Context) (*Slot, error) {
	cs := c.all
	cs.mu.Lock()
	if cs.running < cs.limits.Calls && c.mayRun() { // then no call of the client waits
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
	return c.slot(), nil // even if its turn came at the last moment
}

// tooMany returns the error of a call that is refused.
func (cs *Clients) tooMany(why string) error {
	return &node.Error{Class: node.ResourceExhausted, Reason: reason.TooManyCalls, Message: fmt.Sprintf(
		"%s: the agent runs %d calls at a time and %d of one process, and those before it have not ended; try again later",
		why, cs.limits.Calls, cs.limits.ClientCalls)}
}

// let counts a call that begins to run.
func (c *Client) let() {
	c.all.running++
	c.running++
	c.all.metrics.places.Inc()
}

// withdraw takes a call out of its line. It reports false if the call was let in meanwhile.
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

// done ends a call and lets in the next one.
func (c *Client) done() {
	cs := c.all
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.running--
	c.running--
	cs.metrics.places.Dec()
	c.forget()
	cs.advance()
}

// mayRun reports whether the client may have one more call. Answers that it does not take count as calls.
func (c *Client) mayRun() bool { return c.running+c.unread < c.all.limits.ClientCalls }

// advance lets in waiting calls.
func (cs *Clients) advance() {
	for cs.running < cs.limits.Calls {
		i := slices.IndexFunc(cs.lines, (*Client).mayRun)
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

// slot returns the slot of a call that was let in.
func (c *Client) slot() *Slot {
	s := &Slot{client: c}
	s.holds.Store(1)
	return s
}

// Hold adds a hold on the slot.
func (s *Slot) Hold() { s.holds.Add(1) }

// Client returns the client as a value to compare: it stays the same while the client has a slot.
func (s *Slot) Client() any { return s.client }

// Release gives up one hold, and with the last one the slot.
func (s *Slot) Release() {
	if s.holds.Add(-1) == 0 {
		s.client.done()
	}
}
