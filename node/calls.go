// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
)

// calls runs operations on goroutines of their own, so that a caller can give up at its deadline while a kernel call
// that cannot be abandoned runs to its end with its locks held.
type calls struct {
	kernel  kernel.Kernel
	around  kernel.Interceptor
	locks   keyedLocks
	mu      sync.Mutex
	running map[string]*flight
	workers sync.WaitGroup // the operations that run
	idle    chan func()    // goroutines without an operation wait here for the next
	system  systemVolumeCache
	hints   volumeHints
}

func newCalls(k kernel.Kernel, around kernel.Interceptor) *calls {
	return &calls{kernel: k, around: around, running: make(map[string]*flight), idle: make(chan func())}
}

// op is one running operation as its steps see it.
type op struct {
	ctx   context.Context // values and log of the first caller; ends only while nothing has begun
	k     kernel.Kernel
	calls *calls
	held  []func()
	// sharingPatience is the time left to wait for others to close what they have open.
	sharingPatience patience
}

// flight is an operation under way and everybody who waits for its result.
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

// read runs an operation that changes nothing. It is never joined to another caller's: that one may have looked
// before a change that this caller knows of.
func read[T any](ctx context.Context, c *calls, what string, f func(o *op) (T, error)) (T, error) {
	j := job{what: what}
	return wait[T](ctx, c, j, c.start(ctx, j, func(o *op) (any, error) { return f(o) }))
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
			return fl
		}
	}
	workerCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	fl := &flight{done: make(chan struct{}), waiting: 1, cancel: cancel}
	if j.key != "" {
		c.running[j.key] = fl
	}
	o := &op{ctx: workerCtx, calls: c, k: kernel.Intercept(workerCtx, c.kernel, c.around)}
	c.work(func() {
		defer c.workers.Done()
		defer cancel()
		if j.finally != nil {
			defer j.finally()
		}
		fl.value, fl.err = c.perform(o, fl, j, f)
		close(fl.done)
	})
	return fl
}

// idleTime is how long a goroutine without an operation waits for another.
const idleTime = time.Minute

// work runs an operation on a goroutine that has none, or on a new one: a fresh goroutine's stack has to grow with each
// operation, which costs as much as a short one itself.
func (c *calls) work(operation func()) {
	c.workers.Add(1)
	select {
	case c.idle <- operation:
		return
	default:
	}
	go func() {
		over := time.NewTimer(idleTime)
		defer over.Stop()
		for {
			operation()
			over.Reset(idleTime)
			select {
			case operation = <-c.idle:
			case <-over.C:
				return
			}
		}
	}()
}

// perform takes the locks, runs f and lets everything go again. The flight leaves the register before the locks are
// released, so that nobody joins a call that others may already have overtaken.
func (c *calls) perform(o *op, fl *flight, j job, f func(o *op) (any, error)) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			klog.FromContext(o.ctx).Error(nil, "Panic in an operation", "call", j.what, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = errorf(Internal, "PANIC", "%s: internal error; the agent's log has the details", j.what)
		}
		c.forget(j.key, fl)
		for i := len(o.held) - 1; i >= 0; i-- {
			o.held[i]()
		}
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
	if j.fresh {
		c.forget(j.key, fl)
	}
	return f(o)
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
	go func() { c.workers.Wait(); close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return abandoned(ctx, "waiting for running operations")
	}
}

// done is the value of an operation that only succeeds or fails.
type done struct{}
