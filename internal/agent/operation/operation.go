// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/running"
)

// Operation is a running operation as its function sees it.
type Operation struct {
	Context context.Context //nolint:containedctx // values and log of the first caller; see newOperation
	Kernel  kernel.Kernel
	Request Request

	runner   *Runner
	kind     kind
	deadline time.Time // of the first caller; zero: none
	unlocks  []func()
	entry    *running.Entry[task]
	sharing  Backoff
}

// A kind of operation is a *reading, a *call, which changes something, or one object that either has asked.
type kind interface {
	// mayCall is called before each kernel call. It fails if the operation has been given up, and does not go on.
	mayCall() error
	// waiting ends when nothing waits any more for the answers of parts that the operation asks.
	waiting() context.Context
}

// newOperation returns an operation about to run for a call. Its context ends only while a change has not begun.
func (r *Runner) newOperation(ctx context.Context, request Request, k kind, entry *running.Entry[task]) *Operation {
	deadline, _ := ctx.Deadline()
	o := &Operation{
		Context: context.WithoutCancel(ctx), Request: request, runner: r, kind: k, deadline: deadline, entry: entry,
	}
	o.Kernel = o.kernelFor(0)
	return o
}

// kernelFor returns the kernel for one of the objects that an operation asks side by side, whose number the interceptor
// learns, or with 0 for an operation that asks no other.
func (o *Operation) kernelFor(part int) kernel.Kernel {
	config := o.runner.config
	around := config.Interceptor
	if around != nil && part != 0 {
		around = func(ctx context.Context, call kernel.Call, do func() error) error {
			call.Part = part
			return config.Interceptor(ctx, call, do)
		}
	}
	return kernel.Intercept(o.Context, config.Kernel, o.Commit, around)
}

// Commit is called before each kernel call. From the first one on an operation runs to its end, whatever its caller
// does. It fails if the caller gave up before; for a part of another operation, before any of its kernel calls.
func (o *Operation) Commit() error {
	if err := o.kind.mayCall(); err != nil {
		return gaveUp(err, o.Request, asksAgain)
	}
	return nil
}

// run runs f and turns a panic into an error.
func (o *Operation) run(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Panicked(o.Context, o.Request.String(), p)
		}
		o.release()
	}()
	return f()
}

// start runs f on a goroutine for which Drain waits, and finish with its error. Done is closed when the operation has
// left the registry: a caller that has its answer must not find the operation still running.
func (o *Operation) start(release func(), f func() error, finish func(error)) (done chan struct{}) {
	done = make(chan struct{})
	o.runner.busy.Go(func() {
		finish(o.run(f))
		o.entry.Remove()
		if release != nil {
			release()
		}
		close(done)
	})
	return done
}

// release releases the operation's locks and calls the other functions of AtEnd.
func (o *Operation) release() {
	for _, unlock := range slices.Backward(o.unlocks) {
		unlock()
	}
	o.unlocks = nil
}

// AtEnd calls f when the operation, or its phase, is over, however it ends.
func (o *Operation) AtEnd(f func()) { o.unlocks = append(o.unlocks, f) }

// Lock takes further locks for the rest of the operation or phase: none twice, and of objects whose classes ascend. It
// refuses an object that hangs.
func (o *Operation) Lock(objects ...Object) error {
	for _, x := range inLockOrder(objects) {
		if err := o.refuseHanging(x); err != nil {
			return err
		}
		unlock, err := o.runner.locks.Acquire(o.Context, x.key())
		if err != nil {
			return o.GaveUp()
		}
		o.entry.Update(func(t *task) { t.held = append(t.held, x) })
		o.AtEnd(func() {
			o.entry.Update(func(t *task) { t.held = t.held[:len(t.held)-1] })
			unlock()
		})
	}
	return nil
}

// Phase runs a part of the operation, which holds the locks of the objects, and gives up what it takes. The objects'
// classes come after those that the operation holds already.
func (o *Operation) Phase(f func() error, objects ...Object) error {
	before := o.unlocks
	o.unlocks, o.sharing = nil, Backoff{}
	defer func() { o.release(); o.unlocks = before }()
	if err := o.Lock(objects...); err != nil {
		return err
	}
	return f()
}

// GaveUp returns the error for an operation whose context has ended.
func (o *Operation) GaveUp() error { return gaveUp(o.Context.Err(), o.Request, goesOn) }

// What a caller that gave up is told.
const (
	goesOn    = "the operation continues in the agent, and a repeated call joins or follows it"
	asksAgain = "Windows has not answered yet; a repeated call asks again"
)

func gaveUp(cause error, what Request, next string) error {
	class, why := errdefs.Canceled, "was cancelled by the caller"
	if errors.Is(cause, context.DeadlineExceeded) {
		class, why = errdefs.DeadlineExceeded, "did not end within the call's deadline"
	}
	return class.WrapErrorf(cause, reason.StillRunning, "%s %s; %s", what, why, next)
}
