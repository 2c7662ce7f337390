// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/running"
)

// A change runs on a goroutine of its own, so that a caller can give up at its deadline while a kernel call that cannot
// be abandoned runs to its end and keeps its locks.

// call is a change under way, with the callers that wait for its result.
type call struct {
	runner    *Runner
	entry     *running.Entry[task]
	context   context.Context //nolint:containedctx // of its first caller; cancel ends it
	done      chan struct{}
	value     any
	err       error
	callers   int                // that wait
	begun     bool               // it has its locks
	committed bool               // it has asked Windows something and now runs to its end
	cancel    context.CancelFunc // ends the wait for locks once the last caller has left
}

// Change runs an operation that changes something and holds the locks of its objects meanwhile. A caller joins an
// identical operation that is already running: that one holds or awaits the same locks, so nothing that this caller saw
// finish can lie between its steps.
func Change[T any](ctx context.Context, r *Runner, request Request,
	f func(o *Operation) (T, error)) (value T, err error) {
	c := r.do(ctx, request, func(o *Operation) (any, error) { return f(o) })
	select {
	case <-c.done:
	case <-ctx.Done():
		r.abandon(request, c)
		r.tell(request, GaveUp)
		return value, gaveUp(ctx.Err(), request, goesOn)
	}
	if c.err != nil {
		return value, c.err
	}
	return c.value.(T), nil //nolint:forcetypeassert // one key belongs to one operation, hence to one type
}

// do joins an identical change, or starts one.
func (r *Runner) do(ctx context.Context, request Request, f func(o *Operation) (any, error)) *call {
	key := request.key()
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.calls[key]; c != nil && key != "" {
		c.callers++
		klog.FromContext(ctx).V(2).Info("Joined an identical call", "call", request)
		r.tell(request, Joined)
		return c
	}
	entry, release := r.register(ctx, request)
	c := &call{runner: r, entry: entry, callers: 1}
	o := r.newOperation(ctx, request, c, entry)
	o.Context, c.cancel = context.WithCancel(o.Context)
	c.context = o.Context
	if key != "" {
		r.calls[key] = c
	}
	r.tell(request, Queued)
	c.done = o.start(release, func() (err error) { c.value, err = o.perform(c, f); return err }, func(err error) {
		c.err = err
		c.cancel()
		r.tell(request, c.outcome())
	})
	return c
}

// perform takes the locks and runs f. Before it releases them it lets no more callers join: others may overtake it.
func (o *Operation) perform(c *call, f func(o *Operation) (any, error)) (value any, err error) {
	r, request := o.runner, o.Request
	defer r.forget(request, c)
	if err := o.Lock(request.Objects...); err != nil {
		return nil, err
	}
	r.mu.Lock()
	c.begun = c.callers > 0
	r.mu.Unlock()
	if !c.begun {
		return nil, o.GaveUp()
	}
	r.tell(request, Begun)
	o.entry.Update(func(t *task) { t.begun = true })
	if request.JoinQueuedOnly {
		r.forget(request, c)
	}
	return f(o)
}

// outcome returns how a finished call ended.
func (c *call) outcome() Event {
	if c.begun {
		return Ended
	}
	return Dropped
}

// forget lets no caller join a call any more.
func (r *Runner) forget(request Request, c *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetLocked(request, c)
}

func (r *Runner) forgetLocked(request Request, c *call) {
	if key := request.key(); r.calls[key] == c {
		delete(r.calls, key)
	}
}

// mayCall notes that the first kernel call is about to begin: then the change runs to its end.
func (c *call) mayCall() error {
	c.runner.mu.Lock()
	defer c.runner.mu.Unlock()
	c.committed = c.committed || c.callers > 0
	if !c.committed {
		return context.Canceled
	}
	return nil
}

// waiting never ends: a change needs the answers of its parts, whether a caller waits for it or not.
func (c *call) waiting() context.Context { return context.WithoutCancel(c.context) }

// abandon removes one waiting caller from a call. Without others, a call that has asked Windows nothing is cancelled.
func (r *Runner) abandon(request Request, c *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.callers--
	switch {
	case c.callers > 0:
	case c.committed:
		c.entry.Update(func(t *task) {
			if t.left.IsZero() { // a caller that joins what hangs does not mend it
				t.left = time.Now()
			}
		})
	default:
		r.forgetLocked(request, c)
		c.cancel()
	}
}
