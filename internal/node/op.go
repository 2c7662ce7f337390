// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/running"
)

// op is a running operation as its steps see it. The steps are its methods.
type op struct {
	ctx      context.Context // values and log of the first caller; ends only while a change has not begun
	k        kernel.Kernel
	node     *Node
	deadline time.Time // of the first caller; zero: none
	unlocks  []func()

	caller    context.Context //nolint:containedctx // ends when nobody waits for an operation that has not begun
	flight    *flight         // of a change; nil for a read
	acted     bool            // it has begun a kernel call
	client    any             // of the first caller; nil: not known
	operation operation
	hangsAt   string // key of the object that its kernel calls are about
	entry     *running.Entry[task]
	reads     bool       // it changes nothing
	queued    *queueTime // of one that is asked side by side with others; else nil
	// sharingPatience is the time left to wait for other programs to close files.
	sharingPatience patience
}

// newOp returns an operation that is about to run on behalf of a call.
func (n *Node) newOp(ctx context.Context, what operation, entry *running.Entry[task], held Held) *op {
	deadline, _ := ctx.Deadline()
	inside := context.WithoutCancel(ctx)
	o := &op{
		ctx: inside, caller: ctx, node: n, deadline: deadline,
		operation: what, hangsAt: what.hangsAt()[0].key(), entry: entry,
	}
	if held != nil {
		o.client = held.Client()
	}
	o.k = o.kernelFor(inside, 0)
	return o
}

// run runs f and turns a panic into an error.
func (o *op) run(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			klog.FromContext(o.ctx).Error(nil, "Panic in an operation", "call", o.operation, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = errorf(Internal, reason.Panic, "%s: internal error; the agent's log has the details", o.operation)
		}
		for i := len(o.unlocks) - 1; i >= 0; i-- {
			o.unlocks[i]()
		}
	}()
	return f()
}

// lock takes further locks for the rest of the operation. An operation locks nothing twice, and the kinds of the objects
// that it locks ascend.
func (o *op) lock(objects ...object) error {
	for _, key := range inLockOrder(objects) {
		unlock, err := o.node.locks.acquire(o.ctx, key)
		if err != nil {
			return abandoned(o.ctx, o.operation.String())
		}
		o.unlocks = append(o.unlocks, unlock)
	}
	return nil
}
