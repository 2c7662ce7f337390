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

// A limited number of calls run at a time, in all and of each client: see quota. The others wait in one line per client, and
// the clients take turns, so that a client with many calls at once delays only itself.

// A Slot is the right of one call to run. It is given back when the call has been answered and all operations that it
// began on the node are over.
type Slot struct {
	client *Client
	holds  atomic.Int32
	left   bool // see Leave; guarded by Clients.mu
}

// A turn is what a call waits for.
type turn struct {
	client *Client
	came   chan struct{} // closed then
}

// Enter waits until a call of the client may run. It fails when the call is refused or its caller gave up.
func (c *Client) Enter(ctx context.Context) (*Slot, error) {
	cs := c.all
	cs.mu.Lock()
	if cs.calls().crowded(cs.running) {
		cs.buryAll()
		c.bury()
	}
	a := c.account
	if len(a.waiting) == 0 && cs.mayRun(a) {
		c.let()
		cs.mu.Unlock()
		return c.slot(), nil
	}
	if len(a.waiting) >= cs.limits.ClientWaiting {
		cs.mu.Unlock()
		return nil, cs.tooMany(fmt.Sprintf("%d calls of this process are waiting already", cs.limits.ClientWaiting))
	}
	t := &turn{client: c, came: make(chan struct{})}
	a.waiting = append(a.waiting, t)
	if len(a.waiting) == 1 {
		cs.lines = append(cs.lines, a)
	}
	cs.mu.Unlock()
	cs.metrics.queued.Inc()
	defer cs.metrics.queued.Dec()

	patience := time.NewTimer(cs.limits.Wait)
	defer patience.Stop()
	var refusal error
	select {
	case <-t.came:
	case <-ctx.Done():
		refusal = ctx.Err()
	case <-patience.C:
		refusal = cs.tooMany(fmt.Sprintf("the call waited %v for its turn", cs.limits.Wait))
	}
	if refusal != nil && c.withdraw(t) {
		return nil, refusal
	}
	return c.slot(), nil // even if its turn came at the last moment
}

// tooMany returns the error of a call that is refused.
func (cs *Clients) tooMany(why string) error {
	return &node.Error{Class: node.ResourceExhausted, Reason: reason.TooManyCalls, Message: fmt.Sprintf(
		"%s: the agent runs %d calls at a time, %d of one process and fewer when most places are taken, and those before it have "+
			"not ended; try again later", why, cs.limits.Calls, cs.limits.ClientCalls)}
}

// let counts a call that begins to run.
func (c *Client) let() {
	cs := c.all
	c.count(func(t *tally) { t.running++ })
	cs.metrics.places.Inc()
	if cs.scarce == 0 && cs.freeCalls() < cs.calls().reserve() {
		cs.scarce = cs.seen
	}
}

// calls returns the quota of running calls.
func (cs *Clients) calls() quota { return quota{cs.limits.Calls, cs.limits.ClientCalls} }

func (cs *Clients) freeCalls() int { return cs.limits.Calls - cs.running }

// withdraw takes a call out of its line. It reports false if the call was let in meanwhile.
func (c *Client) withdraw(t *turn) bool {
	cs := c.all
	cs.mu.Lock()
	defer cs.mu.Unlock()
	a := c.account
	i := slices.Index(a.waiting, t)
	if i < 0 {
		return false
	}
	a.waiting = slices.Delete(a.waiting, i, i+1)
	if len(a.waiting) == 0 {
		cs.lines = slices.DeleteFunc(cs.lines, func(line *account) bool { return line == a })
		cs.tidy(a)
	}
	return true
}

// done ends a call and lets in the next one.
func (s *Slot) done() {
	cs := s.client.all
	cs.mu.Lock()
	defer cs.mu.Unlock()
	s.client.count(func(t *tally) { t.running-- })
	cs.metrics.places.Dec()
	if s.left {
		cs.metrics.left.Dec()
	}
	if cs.freeCalls() >= cs.calls().reserve() {
		cs.scarce = 0
	}
	s.client.forget()
	cs.advance()
}

// mayRun reports whether one more call of an account may run. Answers that are not taken count as calls.
func (cs *Clients) mayRun(a *account) bool {
	process, container := cs.calls().share(cs.running)
	switch {
	case cs.running >= cs.limits.Calls, a.running+a.unread >= process:
		return false
	case a.container != "":
		all := cs.together(a)
		return all.running+all.unread < container
	default:
		return cs.scarce == 0 || a.number <= cs.scarce
	}
}

// advance lets in waiting calls.
func (cs *Clients) advance() {
	for {
		i := slices.IndexFunc(cs.lines, cs.mayRun)
		if i < 0 {
			return
		}
		a := cs.lines[i]
		cs.lines = slices.Delete(cs.lines, i, i+1)
		next := a.waiting[0]
		a.waiting = a.waiting[1:]
		if len(a.waiting) > 0 {
			cs.lines = append(cs.lines, a) // behind the others
		}
		next.client.let()
		close(next.came)
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

// Client returns the client as a value to compare: its container if that is known, otherwise the process.
func (s *Slot) Client() any {
	if s.client.container != "" {
		return s.client.container
	}
	return s.client
}

// Leave gives up the hold of the call itself, which is over. Operations that go on have no caller now.
func (s *Slot) Leave() {
	cs := s.client.all
	cs.mu.Lock()
	if s.holds.Load() > 1 {
		s.left = true
		cs.metrics.left.Inc()
	}
	cs.mu.Unlock()
	s.Release()
}

// Release gives up one hold, and with the last one the slot.
func (s *Slot) Release() {
	if s.holds.Add(-1) == 0 {
		s.done()
	}
}
