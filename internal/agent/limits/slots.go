// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
)

// A Slot is the right of one call to run, and of the operation that it began, until both are over.
type Slot struct {
	client *Client
	method string
	since  time.Time
	shared bool // it counts against Limits.Operations, as the client's reserve was used up
	uses   int  // the call, and operations; guarded by Clients.mu
}

// waiter is a call that waits for its slot.
type waiter struct {
	client  *Client
	method  string
	granted chan *Slot // buffered
}

// Acquire waits for a slot, which its caller releases. A free slot goes to the oldest waiting call of a client that is
// below its limit.
func (c *Client) Acquire(ctx context.Context, method string) (*Slot, error) {
	cs := c.clients
	w := &waiter{client: c, method: method, granted: make(chan *Slot, 1)}
	cs.mu.Lock()
	cs.waiting = append(cs.waiting, w)
	c.waiters++
	cs.dispatchLocked()
	cs.mu.Unlock()
	select {
	case slot := <-w.granted: // without making a timer
		return slot, nil
	default:
	}
	cs.metrics.queued.Inc()
	defer cs.metrics.queued.Dec()
	limit := time.NewTimer(cs.limits.Wait)
	defer limit.Stop()
	var err error
	select {
	case slot := <-w.granted:
		return slot, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-limit.C:
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	i := slices.Index(cs.waiting, w)
	if i < 0 {
		return <-w.granted, nil // at the last moment
	}
	if err == nil {
		err = c.tooManyLocked()
	}
	cs.waiting = slices.Delete(cs.waiting, i, i+1)
	c.waiters--
	c.forgetLocked()
	return nil, err
}

// dispatchLocked grants free slots to waiting calls, the oldest first.
func (cs *Clients) dispatchLocked() {
	cs.waiting = slices.DeleteFunc(cs.waiting, func(w *waiter) bool {
		c := w.client
		shared := c.reserved >= cs.limits.ClientReserved
		if len(c.slots) >= cs.limits.ClientOperations || shared && cs.slots >= cs.limits.Operations {
			return false
		}
		slot := &Slot{client: c, method: w.method, since: time.Now(), shared: shared, uses: 1}
		if shared {
			cs.slots++
		} else {
			c.reserved++
		}
		c.slots[slot] = struct{}{}
		c.waiters--
		cs.metrics.slots.Inc()
		w.granted <- slot
		return true
	})
}

// Retain keeps the slot for an operation that may outlive the call, until another Release.
func (s *Slot) Retain() {
	s.client.clients.mu.Lock()
	defer s.client.clients.mu.Unlock()
	s.uses++
}

// Release ends the call, or what Retain kept the slot for.
func (s *Slot) Release() {
	c, cs := s.client, s.client.clients
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if s.uses--; s.uses > 0 {
		return
	}
	if s.shared {
		cs.slots--
	} else {
		c.reserved--
	}
	delete(c.slots, s)
	cs.metrics.slots.Dec()
	cs.dispatchLocked()
	c.forgetLocked()
}

// tooManyLocked returns the error of a call that got no slot in time. It names the methods of running operations.
func (c *Client) tooManyLocked() error {
	cs := c.clients
	limit, whose, clients := cs.limits.ClientOperations, "this process", map[*Client]struct{}{c: {}}
	if len(c.slots) < limit {
		limit, whose, clients = cs.limits.Operations, "all processes", cs.clients
	}
	running, oldest := map[string]int{}, time.Now()
	for client := range clients {
		for slot := range client.slots {
			running[slot.method]++
			if slot.since.Before(oldest) {
				oldest = slot.since
			}
		}
	}
	return c.refuseLocked(errdefs.ResourceExhausted,
		"%d operations of %s are running, as many as may, and none ended within %v: %s, the oldest for %v; try again later",
		limit, whose, cs.limits.Wait, most(running), time.Since(oldest).Round(time.Second))
}

// most returns the most frequent names with their counts: "60 GetVolumeStats, 4 ListDiskIDs".
func most(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	const shown = 3
	var parts []string
	for _, name := range names[:min(shown, len(names))] {
		parts = append(parts, fmt.Sprintf("%d %s", counts[name], name))
	}
	if len(names) > shown {
		parts = append(parts, "others")
	}
	return strings.Join(parts, ", ")
}
