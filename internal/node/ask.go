// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/running"
)

// An operation that asks many disks or volumes asks them side by side. One that does not answer in time is left out: it
// shows in the log and among the running operations, and does not hold up the answers of the others.
const (
	askWidth     = 16              // objects asked at the same time
	askTime      = 5 * time.Second // wait for each, once its turn has come
	askTimeLeast = time.Second     // wait for each if the caller's time is nearly over
)

// answer is the answer of one object.
type answer[T any] struct {
	value T
	err   error
}

// askEach asks each object, side by side, and returns the answers in the order of the objects.
func askEach[T any](o *op, objects []object, f func(o *op, i int) (T, error)) []answer[T] {
	answers := make([]answer[T], len(objects))
	slots := make(chan struct{}, askWidth)
	var asked sync.WaitGroup
	for i, x := range objects {
		slots <- struct{}{}
		asked.Go(func() {
			defer func() { <-slots }()
			answers[i].value, answers[i].err = ask(o, x, i+1, func(o *op) (T, error) { return f(o, i) })
		})
	}
	asked.Wait()
	return answers
}

// ask asks one object on a goroutine of its own, which continues after the wait for it ends. Part is the object's
// number among those asked side by side.
func ask[T any](o *op, x object, part int, f func(o *op) (T, error)) (T, error) {
	var value T
	if err := o.ask(x, part, func(o *op) (err error) { value, err = f(o); return err }); err != nil {
		var zero T // the object may still be asked, and the answer written
		return zero, err
	}
	return value, nil
}

// ask is apart because the compiler would otherwise make it anew for each type of answer.
func (o *op) ask(x object, part int, f func(o *op) error) error {
	n, what := o.node, on(o.operation.verb, x)
	if err := n.refuseHanging(what, x); err != nil {
		return err
	}
	entry := n.tasks.Add(task{operation: what, begun: true})
	aside, giveUp := o.aside(what, entry, part)
	defer giveUp()
	var err error
	done := make(chan struct{})
	n.busy.Go(func() {
		defer close(done)
		err = aside.run(func() error { return f(aside) })
		n.end(entry, nil)
	})
	patience := o.askTime()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-done:
		return err
	case <-limit.C:
	}
	n.abandon(entry)
	klog.FromContext(o.ctx).Error(nil, "An object that does not answer is left out", "object", x, "call",
		o.operation, "waited", patience)
	return errdefs.Unavailable.Errorf(reason.NotAnswering, "%s has not answered within %v", x, patience)
}

// askTime returns how long an operation waits for one of many: half of what is left of its caller's time, so that the
// caller gets the answers of the others, but never so short that a slow disk would be taken for a missing one.
func (o *op) askTime() time.Duration {
	if left := time.Until(o.deadline); left > 0 {
		return max(askTimeLeast, min(askTime, left/2))
	}
	return askTime
}

// aside returns an operation that asks one object on behalf of another operation, until that gives up.
func (o *op) aside(what operation, entry *running.Entry[task], part int) (aside *op, giveUp context.CancelFunc) {
	aside = &op{
		ctx: o.ctx, node: o.node, deadline: o.deadline, operation: what, entry: entry, part: true,
		reads: true, acted: !o.reads, // a change has begun to ask Windows
	}
	caller := o.caller
	if !o.reads {
		caller = context.WithoutCancel(caller) // a change goes on without its caller
	}
	aside.caller, giveUp = context.WithCancel(caller)
	aside.k = aside.kernelFor(o.ctx, part)
	return aside, giveUp
}
