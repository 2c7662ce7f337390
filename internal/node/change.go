// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
)

// A change runs on a goroutine of its own, so that a caller can give up at its deadline while a kernel call that cannot
// be abandoned runs to its end and keeps its locks.

// flight is a change under way, with the callers that wait for its result.
type flight struct {
	done    chan struct{}
	value   any
	err     error
	waiting int
	begun   bool               // it has its locks
	acted   bool               // it has asked Windows something and now runs to its end
	cancel  context.CancelFunc // ends the wait for locks, and for the first place, once the last caller has left
}

// change runs an operation that changes something and holds the locks of its objects meanwhile. A caller joins an
// identical operation that is already running: that one holds or awaits the same locks, so nothing that this caller saw
// finish can lie between its steps.
func (n *Node) change(ctx context.Context, what operation, f func(o *op) error) error {
	_, err := changeTo(ctx, n, what, nil, func(o *op) (struct{}, error) { return struct{}{}, f(o) })
	return err
}

// changeWith is change for a caller that must clean up: finally, unless nil, is called once, after this call's function
// has run or when it is certain not to run.
func (n *Node) changeWith(ctx context.Context, what operation, finally func(), f func(o *op) error) error {
	_, err := changeTo(ctx, n, what, finally, func(o *op) (struct{}, error) { return struct{}{}, f(o) })
	return err
}

// changeTo is changeWith for an operation with a result.
func changeTo[T any](ctx context.Context, n *Node, what operation, finally func(),
	f func(o *op) (T, error)) (T, error) {
	var zero T
	what.allowed = allowedName(ctx)
	fl := n.fly(ctx, what, finally, func(o *op) (any, error) { return f(o) })
	select {
	case <-fl.done:
	case <-ctx.Done():
		n.leave(what, fl)
		n.tell(what, GaveUp)
		return zero, abandoned(ctx, what.String())
	}
	if fl.err != nil {
		return zero, fl.err
	}
	return fl.value.(T), nil //nolint:forcetypeassert // one key belongs to one operation, hence to one type
}

// fly joins an identical change, or starts one.
func (n *Node) fly(ctx context.Context, what operation, finally func(), f func(o *op) (any, error)) *flight {
	key := what.key()
	n.mu.Lock()
	defer n.mu.Unlock()
	if fl := n.flights[key]; fl != nil && key != "" {
		fl.waiting++
		if finally != nil {
			finally()
		}
		klog.FromContext(ctx).V(2).Info("Joined an identical call", "call", what)
		n.tell(what, Joined)
		return fl
	}
	entry, held := n.begin(ctx, what)
	o := n.newOp(ctx, what, entry)
	fl := &flight{done: make(chan struct{}), waiting: 1}
	o.ctx, fl.cancel = context.WithCancel(o.ctx)
	o.caller, o.flight = o.ctx, fl
	if key != "" {
		n.flights[key] = fl
	}
	n.tell(what, Queued)
	n.busy.Go(func() {
		defer fl.cancel()
		fl.err = o.run(func() (err error) { fl.value, err = o.perform(fl, f); return err })
		if finally != nil { // before the answer: whoever has it may rely on that
			finally()
		}
		n.tell(what, fl.outcome())
		n.end(entry, held) // first: a caller that has its answer must not find the operation still running
		close(fl.done)
	})
	return fl
}

// perform takes the locks and runs f. The flight leaves the register before the locks are released, so that no caller
// joins an operation that others may already have overtaken.
func (o *op) perform(fl *flight, f func(o *op) (any, error)) (value any, err error) {
	n, what := o.node, o.operation
	defer n.land(what, fl)
	if err := o.lock(what.objects...); err != nil {
		return nil, err
	}
	n.mu.Lock()
	fl.begun = fl.waiting > 0
	n.mu.Unlock()
	if !fl.begun {
		return nil, abandoned(o.ctx, what.String())
	}
	n.tell(what, Begun)
	o.entry.Update(func(t *task) { t.begun = true })
	if what.fresh {
		n.land(what, fl)
	}
	return f(o)
}

// outcome returns how a finished flight ended.
func (fl *flight) outcome() Event {
	if fl.begun {
		return Ended
	}
	return Dropped
}

// land removes a flight from the register, unless another has already taken its place.
func (n *Node) land(what operation, fl *flight) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.forget(what, fl)
}

func (n *Node) forget(what operation, fl *flight) {
	if key := what.key(); n.flights[key] == fl {
		delete(n.flights, key)
	}
}

// act notes that a flight's first kernel call is about to begin. It reports false if the flight has been cancelled.
func (n *Node) act(fl *flight) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	fl.acted = fl.waiting > 0
	return fl.acted
}

// leave removes one waiting caller from a flight. When no caller is left and the flight has asked Windows nothing yet,
// it is cancelled and cannot be joined any more.
func (n *Node) leave(what operation, fl *flight) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if fl.waiting--; fl.waiting > 0 || fl.acted {
		return
	}
	n.forget(what, fl)
	fl.cancel()
}

// abandoned returns the error for the caller of a change whose context ended first.
func abandoned(ctx context.Context, what string) error {
	return gaveUp(ctx, what, "the operation continues in the agent, and a repeated call joins or follows it")
}

// abandonedRead returns the error for the caller of a read whose context ended first.
func abandonedRead(ctx context.Context, what string) error {
	return gaveUp(ctx, what, "Windows has not answered yet; a repeated call asks again")
}

func gaveUp(ctx context.Context, what, next string) error {
	class, why := errdefs.Canceled, "was cancelled by the caller"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		class, why = errdefs.DeadlineExceeded, "did not end within the call's deadline"
	}
	return class.Wrapf(ctx.Err(), reason.StillRunning, "%s %s; %s", what, why, next)
}
