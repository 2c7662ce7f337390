// SPDX-License-Identifier: Apache-2.0

package node

import "context"

// read runs an operation that changes nothing, on a goroutine of its own. It never joins another caller's read, which
// may have looked before a change that this caller knows of. If the context ends first, the operation continues without
// a caller; while several reads of the same object hang, because Windows does not answer, no more are started.
func read[T any](ctx context.Context, n *Node, what operation, f func(o *op) (T, error)) (T, error) {
	var zero T
	for _, x := range what.hangsAt() {
		if err := n.refuseHanging(what, x); err != nil {
			return zero, err
		}
	}
	entry, held := n.begin(ctx, what)
	entry.Update(func(t *task) { t.begun = true }) // it waits for no lock
	o := n.newOp(ctx, what, entry, held)
	o.reads = true
	n.tell(what, Queued)
	n.tell(what, Begun)
	var value T
	var err error
	done := make(chan struct{})
	n.busy.Go(func() {
		defer close(done)
		err = o.run(func() (err error) { value, err = f(o); return err })
		n.end(entry, held)
		n.tell(what, Ended)
	})
	select {
	case <-done:
		return value, err
	case <-ctx.Done():
		n.tell(what, GaveUp)
		n.abandon(entry)
		return zero, abandonedRead(ctx, what.String())
	}
}
