// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
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
	operation operation
	entry     *running.Entry[task]
	reads     bool // it changes nothing
	part      bool // of another operation, which may give it up
	// sharingPatience is the time left to wait for other programs to close files.
	sharingPatience patience
}

// newOp returns an operation that is about to run on behalf of a call.
func (n *Node) newOp(ctx context.Context, what operation, entry *running.Entry[task]) *op {
	deadline, _ := ctx.Deadline()
	inside := context.WithoutCancel(ctx)
	o := &op{
		ctx: inside, caller: ctx, node: n, deadline: deadline,
		operation: what, entry: entry,
	}
	o.k = o.kernelFor(inside, 0)
	return o
}

// kernelFor returns the kernel for one of the objects that an operation asks side by side, whose number the interceptor
// learns, or with 0 for an operation that asks no other.
func (o *op) kernelFor(ctx context.Context, part int) kernel.Kernel {
	around := o.node.around
	if around != nil && part != 0 {
		around = func(ctx context.Context, call kernel.Call, do func() error) error {
			call.Part = part
			return o.node.around(ctx, call, do)
		}
	}
	return kernel.InterceptAfter(ctx, o.node.kernel, o.mayCall, around)
}

// mayCall refuses a kernel call of an operation that was given up before its first one. An operation that has begun to
// ask Windows goes on; a part of another operation can be given up between its calls.
func (o *op) mayCall() error {
	given := (!o.acted || o.part) && o.caller.Err() != nil
	if given || !o.acted && o.flight != nil && !o.node.act(o.flight) {
		return abandonedRead(o.caller, o.operation.String())
	}
	o.acted = true
	return nil
}

// run runs f and turns a panic into an error.
func (o *op) run(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			klog.FromContext(o.ctx).Error(nil, "Panic in an operation", "call", o.operation, "panic", fmt.Sprint(p),
				"stack", string(debug.Stack()))
			err = errdefs.Internal.Errorf(reason.Panic, "%s: internal error; the agent's log has the details", o.operation)
		}
		for i := len(o.unlocks) - 1; i >= 0; i-- {
			o.unlocks[i]()
		}
	}()
	return f()
}

// lock takes further locks for the rest of the operation. An operation locks nothing twice, and the kinds of the
// objects that it locks ascend.
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
