// SPDX-License-Identifier: Apache-2.0

package node

import "context"

// read runs an operation that changes nothing, on a goroutine of its own. It never joins another caller's read, which
// may have looked before a change that this caller knows of. If the context ends first, the operation continues without
// a caller; while several reads of the same object hang, because Windows does not answer, no more are started.
func read[T any](ctx context.Context, n *Node, what operation, f func(o *op) (T, error)) (T, error) {
	var value T
	if err := n.read(ctx, what, func(o *op) (err error) { value, err = f(o); return err }); err != nil {
		var zero T // the operation may still be running and write the value
		return zero, err
	}
	return value, nil
}

// read is apart because the compiler would otherwise make it anew for each type of answer.
func (n *Node) read(ctx context.Context, what operation, f func(o *op) error) error {
	for _, x := range what.hangsAt() {
		if err := n.refuseHanging(what, x); err != nil {
			return err
		}
	}
	entry, held := n.begin(ctx, what)
	entry.Update(func(t *task) { t.begun = true }) // it waits for no lock
	o := n.newOp(ctx, what, entry)
	o.reads = true
	n.tell(what, Queued)
	n.tell(what, Begun)
	var err error
	done := make(chan struct{})
	n.busy.Go(func() {
		defer close(done)
		err = o.run(func() error { return f(o) })
		n.end(entry, held)
		n.tell(what, Ended)
	})
	select {
	case <-done:
		return err
	case <-ctx.Done():
		n.tell(what, GaveUp)
		n.abandon(entry)
		return abandonedRead(ctx, what.String())
	}
}
