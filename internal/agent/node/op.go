// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
)

// Limits of waiting for Windows. The agent's deadlines are longer than any of them.
const (
	volumeTime    = 30 * time.Second // until the volume of a new partition, or of a disk that came online, arrives
	reservedTime  = time.Second      // until the Microsoft Reserved partition of a new GPT appears, if Windows makes one
	answerTime    = 10 * time.Second // until a file server answers a query
	statusTime    = 2 * time.Second  // until the mapping of a share that answers is no longer listed as disconnected
	installTime   = 10 * time.Second // until Windows has installed devices that it never saw
	formatTime    = 30 * time.Second // until a new volume can be formatted; StorageDsc waits as long
	freshTime     = 5 * time.Second  // until a volume that has just come online can be, whatever the provider says
	openTime      = 5 * time.Second  // until other programs let go of a disk that is being changed
	growTime      = 2 * time.Second  // until Windows knows everywhere that a disk, or a volume, has grown
	transientTime = time.Second      // until a disk or volume that is "not ready" answers
)

// op is a running operation. Its steps are its methods.
type op struct {
	run     *operation.Operation
	kernel  kernel.Kernel
	fs      *winfs.FS
	node    *Node
	windows *systemUses // once it has asked
}

func (n *Node) op(o *operation.Operation) *op {
	return &op{run: o, kernel: o.Kernel, fs: n.policy.For(o), node: n}
}

func (o *op) log() klog.Logger { return klog.FromContext(o.run.Context) }

// unrestricted returns the operation as one of the agent's own, for looking at what other clients have made.
func (o *op) unrestricted() *op {
	own := *o
	own.fs = o.fs.Unrestricted()
	return &own
}

// read runs an operation that changes nothing: see operation.Read.
func read[T any](ctx context.Context, n *Node, request operation.Request, f func(o *op) (T, error)) (T, error) {
	return within(ctx, n, request, f, operation.Read[T])
}

// changeTo runs an operation that changes something and has a result: see operation.Change.
func changeTo[T any](ctx context.Context, n *Node, request operation.Request, f func(o *op) (T, error)) (T, error) {
	return within(ctx, n, request, f, operation.Change[T])
}

// within runs an operation within what the node's client may reach. A node without that is refused. If the error is a
// bare Win32 code, it names the operation as well, and has the code's class.
func within[T any](ctx context.Context, n *Node, request operation.Request, f func(o *op) (T, error),
	run func(context.Context, *operation.Runner, operation.Request, func(*operation.Operation) (T, error)) (T, error),
) (value T, err error) {
	if err := n.scope.Check(); err != nil {
		return value, err
	}
	request.Scope = n.scope
	return run(ctx, n.operations, request, func(o *operation.Operation) (T, error) {
		value, err := f(n.op(o))
		if code := win32.Errno(0); errors.As(err, &code) {
			err = errdefs.Errorf(err, "%v", o.Request)
		}
		return value, err
	})
}

// run runs the operation of an API method, which its verb names: a read or a change, as the method's row says.
func run[T any](ctx context.Context, n *Node, request operation.Request, f func(o *op) (T, error)) (T, error) {
	m, known := n.methods[request.Verb]
	switch {
	case !known: // or a misspelt read would be a change
		var zero T
		return zero, errdefs.Internal.Errorf(reason.Internal, "no row describes the method %s", request.Verb)
	case m.Reads:
		return read(ctx, n, request, f)
	}
	request.JoinQueuedOnly = m.Fresh
	return changeTo(ctx, n, request, f)
}

// do is run for an operation without a result.
func (n *Node) do(ctx context.Context, request operation.Request, f func(o *op) error) error {
	_, err := run(ctx, n, request, func(o *op) (struct{}, error) { return struct{}{}, f(o) })
	return err
}

// runOf is run for an operation at the one object that a caller names, by the function that parses the name.
func runOf[N, X, T any](ctx context.Context, n *Node, verb string, name N, parse func(N) (X, error),
	object func(X) operation.Object, f func(o *op, x X) (T, error)) (T, error) {
	x, err := parse(name)
	if err != nil {
		var zero T
		return zero, err
	}
	return run(ctx, n, operation.On(verb, object(x)), func(o *op) (T, error) { return f(o, x) })
}

// asking returns the function of an operation that asks one disk, which it opens for queries.
func asking[T any](number uint32, f func(o *op, d *disk) (T, error)) func(o *op) (T, error) {
	return func(o *op) (value T, err error) {
		d, err := o.openDisk(number, 0)
		if err != nil {
			return value, err
		}
		defer d.Close()
		return f(o, d)
	}
}

// changing returns the function of an operation that changes one disk.
func changing(number uint32, f func(o *op, d *disk) error) func(o *op) error {
	return func(o *op) error {
		d, err := o.openDiskToChange(number, nil)
		if err != nil {
			return err
		}
		defer d.Close()
		return f(o, d)
	}
}

// change runs an operation that changes something.
func (n *Node) change(ctx context.Context, request operation.Request, f func(o *op) error) error {
	_, err := changeTo(ctx, n, request, func(o *op) (struct{}, error) { return struct{}{}, f(o) })
	return err
}

// forEach asks the object of each item, in parallel: see operation.ForEach.
func forEach[I, T any](o *op, items []I, object func(I) operation.Object,
	f func(o *op, item I) (T, error)) []operation.Answer[T] {
	objects := make([]operation.Object, len(items))
	for i, item := range items {
		objects[i] = object(item)
	}
	return operation.ForEach(o.run, objects,
		func(child *operation.Operation, i int) (T, error) { return f(o.node.op(child), items[i]) })
}

// askApart asks one question about the node with a time limit of its own, as forEach asks an object. If Windows does
// not answer it, the operation goes on without the answer.
func askApart[T any](o *op, name string, f func(o *op) (T, error)) (T, error) {
	a := forEach(o, []string{name}, operation.Question, func(o *op, _ string) (T, error) { return f(o) })[0]
	return a.Value, a.Err
}
