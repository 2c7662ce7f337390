// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"time"
)

// Read runs an operation that changes nothing, on a goroutine of its own. It never joins another caller's read, which
// may have looked before a change that this caller knows of. If the context ends first, the operation continues without
// a caller; while several reads of the same object are stuck, because Windows does not answer, no more are started.
func Read[T any](ctx context.Context, r *Runner, request Request,
	f func(o *Operation) (T, error)) (value T, err error) {
	for _, x := range request.stuckObjects() {
		if err := r.refuseStuck(x); err != nil {
			return value, err
		}
	}
	entry, lease := r.register(ctx, request)
	entry.Update(func(t *task) { t.begun = true }) // it waits for no lock
	o := r.newOperation(ctx, request, entry)
	o.reads = true
	r.tell(request, Queued)
	r.tell(request, Begun)
	var a Answer[T]
	done := o.start(lease, func() (err error) { a.Value, err = f(o); return err },
		func(err error) { a.Err = err; r.tell(request, Ended) })
	select {
	case <-done:
		return a.Value, a.Err
	case <-ctx.Done():
		r.tell(request, GaveUp)
		entry.Update(func(t *task) { t.left = time.Now() })
		return value, gaveUpRead(ctx, request)
	}
}
