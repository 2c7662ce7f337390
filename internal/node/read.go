// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
)

// read runs an operation that changes nothing. It is never joined to another caller's: that one may have looked
// before a change that this caller knows of. When the context ends first, the operation goes on and nobody waits for it;
// when several of the same do, because Windows does not answer, no more are begun.
func read[T any](ctx context.Context, c *calls, what string, f func(o *op) (T, error)) (T, error) {
	if err := c.underway.check(what); err != nil {
		return *new(T), err
	}
	r := &reading[T]{what: what, f: f, held: c.keep(ctx), done: make(chan struct{})}
	r.op.ctx, r.op.calls = context.WithoutCancel(ctx), c
	r.op.k = kernel.Intercept(r.op.ctx, c.kernel, c.around)
	c.tell(job{what: what}, Queued)
	c.underway.add(&r.op.entry, what)
	c.underway.begin(&r.op.entry) // it waits for no lock
	c.crew.run(r)
	select {
	case <-r.done:
		return r.value, r.err
	case <-ctx.Done():
		c.tell(job{what: what}, GaveUp)
		c.underway.leave(&r.op.entry)
		var zero T
		return zero, abandoned(ctx, what)
	}
}

// reading is a read under way. It is one value, for there are many of them, and most are over soon.
type reading[T any] struct {
	op    op
	what  string
	f     func(o *op) (T, error)
	held  Held  // may be nil
	value T     // to be read when done
	err   error // as well
	done  chan struct{}
}

func (r *reading[T]) run() {
	c := r.op.calls
	defer close(r.done)
	defer func() {
		if p := recover(); p != nil {
			r.err = r.op.panicked(r.what, p)
		}
		r.op.release()
		c.underway.remove(&r.op.entry)
		c.tell(job{what: r.what}, Ended)
		if r.held != nil {
			r.held.Release()
		}
	}()
	c.tell(job{what: r.what}, Begun) // it waits for no lock
	r.value, r.err = r.f(&r.op)
}
