// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
)

// calls runs operations on goroutines of their own, so that a caller can give up at its deadline while a kernel call
// that cannot be abandoned runs to its end with its locks held.
type calls struct {
	kernel   kernel.Kernel
	around   kernel.Interceptor
	observer Observer                   // may be nil
	hold     func(context.Context) Held // may be nil
	locks    keyedLocks
	mu       sync.Mutex
	running  map[string]*flight
	crew     crew
	underway underway
	system   systemVolumeCache
	hints    volumeHints
}

func newCalls(k kernel.Kernel, around kernel.Interceptor) *calls {
	return &calls{kernel: k, around: around, running: make(map[string]*flight), crew: newCrew()}
}

// op is one running operation as its steps see it.
type op struct {
	ctx   context.Context // values and log of the first caller; ends only while a change has not begun
	k     kernel.Kernel
	calls *calls
	held  []func()
	entry entry // in the register of what is under way
	// sharingPatience is the time left to wait for others to close what they have open.
	sharingPatience patience
}

// flight is a change under way and everybody who waits for its result.
type flight struct {
	done    chan struct{}
	value   any
	err     error
	waiting int
	begun   bool               // has its locks; from now on it runs to its end
	cancel  context.CancelFunc // ends the wait for locks when the last caller has gone
}

// job names an operation for its callers and for the locks.
type job struct {
	what  string
	key   string   // identical calls have the same; "" is never joined
	locks []string // taken before the operation begins, in this order
	// fresh: a call joins only one that has not begun, because its result must be newer than the call.
	fresh bool
	// finally, if not nil, is called once when this job's function has run, or will not run any more.
	finally func()
}

// change runs an operation that changes something while it holds the named locks. An identical one, by key, that is
// running already is joined: it holds or awaits the same locks, so nothing that this caller has seen finished can lie
// between its steps.
func change[T any](ctx context.Context, c *calls, j job, f func(o *op) (T, error)) (T, error) {
	return wait[T](ctx, c, j, c.start(ctx, j, func(o *op) (any, error) { return f(o) }))
}

func (c *calls) start(ctx context.Context, j job, f func(o *op) (any, error)) *flight {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j.key != "" {
		if fl := c.running[j.key]; fl != nil {
			fl.waiting++
			if j.finally != nil {
				j.finally()
			}
			klog.FromContext(ctx).V(2).Info("Joined an identical call", "call", j.what)
			c.tell(j, Joined)
			return fl
		}
	}
	workerCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	fl := &flight{done: make(chan struct{}), waiting: 1, cancel: cancel}
	if j.key != "" {
		c.running[j.key] = fl
	}
	o := &op{ctx: workerCtx, calls: c, k: kernel.Intercept(workerCtx, c.kernel, c.around)}
	held := c.keep(ctx)
	c.tell(j, Queued)
	c.underway.add(&o.entry, j.what)
	c.crew.run(operationFunc(func() {
		defer cancel()
		if j.finally != nil {
			defer j.finally()
		}
		fl.value, fl.err = c.perform(o, fl, j, f)
		if held != nil {
			held.Release()
		}
		c.underway.remove(&o.entry) // first: who has the answer does not find the operation under way
		close(fl.done)
	}))
	return fl
}

// keep keeps what the call holds, for an operation that may outlive it.
func (c *calls) keep(ctx context.Context) Held {
	if c.hold == nil {
		return nil
	}
	return c.hold(ctx)
}

// perform takes the locks, runs f and lets everything go again. The flight leaves the register before the locks are
// released, so that nobody joins a call that others may already have overtaken.
func (c *calls) perform(o *op, fl *flight, j job, f func(o *op) (any, error)) (value any, err error) {
	over := Dropped
	defer func() {
		if p := recover(); p != nil {
			err = o.panicked(j.what, p)
		}
		c.forget(j.key, fl)
		o.release()
		c.tell(j, over)
	}()
	for _, name := range j.locks {
		if err := o.lock(name); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	fl.begun = fl.waiting > 0
	c.mu.Unlock()
	if !fl.begun {
		return nil, abandoned(o.ctx, j.what)
	}
	over = Ended
	c.tell(j, Begun)
	c.underway.begin(&o.entry)
	if j.fresh {
		c.forget(j.key, fl)
	}
	return f(o)
}

// panicked logs where an operation panicked and returns what its callers get.
func (o *op) panicked(what string, cause any) error {
	klog.FromContext(o.ctx).Error(nil, "Panic in an operation", "call", what, "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
	return errorf(Internal, "PANIC", "%s: internal error; the agent's log has the details", what)
}

// release lets the operation's locks go.
func (o *op) release() {
	for i := len(o.held) - 1; i >= 0; i-- {
		o.held[i]()
	}
}

// forget takes a flight out of the register, unless another has its place already.
func (c *calls) forget(key string, fl *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[key] == fl {
		delete(c.running, key)
	}
}

// lock takes a further lock for the rest of the operation. The order is iSCSI target, path, volume, disk; within one
// operation nothing is locked twice.
func (o *op) lock(name string) error {
	release, err := o.calls.locks.acquire(o.ctx, name)
	if err != nil {
		return abandoned(o.ctx, "waiting for "+name)
	}
	o.held = append(o.held, release)
	return nil
}

func wait[T any](ctx context.Context, c *calls, j job, fl *flight) (T, error) {
	var zero T
	select {
	case <-fl.done:
	case <-ctx.Done():
		c.leave(j.key, fl)
		c.tell(j, GaveUp)
		return zero, abandoned(ctx, j.what)
	}
	if fl.err != nil {
		return zero, fl.err
	}
	return fl.value.(T), nil //nolint:forcetypeassert // one key belongs to one operation, hence to one type
}

// leave takes one waiting caller off a flight. Nobody left and nothing begun: the flight is off, and must not be joined.
func (c *calls) leave(key string, fl *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if fl.waiting--; fl.waiting > 0 || fl.begun {
		return
	}
	if c.running[key] == fl {
		delete(c.running, key)
	}
	fl.cancel()
}

// drain waits until no operation is running.
func (c *calls) drain(ctx context.Context) error {
	idle := make(chan struct{})
	go func() { c.crew.disband(); close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return abandoned(ctx, "waiting for running operations")
	}
}

// done is the value of an operation that only succeeds or fails.
type done struct{}
