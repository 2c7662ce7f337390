// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
)

// An operation that asks many disks or volumes asks them side by side. One that does not answer in time is left out: it
// shows in the log and among the running operations, and does not hold up the answers of the others.
const (
	maxParallel = 16              // objects asked at the same time
	childTime   = 5 * time.Second // wait for each, once its turn has come
	minChild    = time.Second     // wait for each if the caller's time is nearly over
)

// Answer is the answer of one object.
type Answer[T any] struct {
	Value T
	Err   error
}

// ForEach asks each object, side by side, and returns the answers in the order of the objects.
func ForEach[T any](o *Operation, objects []Object, f func(child *Operation, i int) (T, error)) []Answer[T] {
	answers := make([]Answer[T], len(objects))
	slots := make(chan struct{}, maxParallel)
	var all sync.WaitGroup
	for i, x := range objects {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			answers[i].Value, answers[i].Err = askOne(o, x, i+1, func(child *Operation) (T, error) { return f(child, i) })
			if Unanswered(answers[i].Err) != "" {
				klog.FromContext(o.Context).Error(nil, "An object that does not answer is left out", "object", x, "call", o.Request)
			}
		})
	}
	all.Wait()
	return answers
}

// lateError is the cause of askOne's error when the wait for an object has ended.
type lateError struct{ object Object }

func (lateError) Error() string { return "no answer in time" }

// Unanswered returns the name of the object that gave no answer in time, "" for other errors.
func Unanswered(err error) string {
	var late lateError
	errors.As(err, &late)
	return late.object.String()
}

// A question is the kind of the part of an operation that asks one object. It makes no further kernel call once the
// operation has stopped waiting for its answer.
type question struct {
	answered context.Context //nolint:containedctx // ends when the operation stops waiting for the answer
}

func (k question) mayCall() error           { return k.answered.Err() }
func (k question) waiting() context.Context { return k.answered }

// askOne asks one object, on a goroutine that may outlive the wait. Part is its number among those asked side by side.
func askOne[T any](o *Operation, x Object, part int, f func(child *Operation) (T, error)) (value T, err error) {
	r, request := o.runner, On(o.Request.Verb, x)
	request.Scope = o.Request.Scope
	if err := r.refuseStuck(x); err != nil {
		return value, err
	}
	waiting, giveUp := context.WithCancel(o.kind.waiting())
	defer giveUp()
	child := &Operation{
		Context: o.Context, Request: request, runner: r, kind: question{waiting}, deadline: o.deadline,
		entry: r.tasks.Add(task{request: request, begun: true}),
	}
	child.Kernel = child.kernelFor(part)
	var a Answer[T]
	done := child.start(nil, func() (err error) { a.Value, err = f(child); return err }, func(err error) { a.Err = err })
	wait := o.childTime()
	limit := time.NewTimer(wait)
	defer limit.Stop()
	select {
	case <-done:
		return a.Value, a.Err
	case <-limit.C:
	}
	child.entry.Update(func(t *task) {
		t.left = time.Now()
		if t.at != (Object{}) { // the disk is known by its number meanwhile
			x = t.at
		}
	})
	text := fmt.Sprintf("%s has not answered within %v", x, wait.Round(time.Millisecond))
	if _, oldest := r.unanswered(x, 0); oldest > wait+time.Second {
		text += fmt.Sprintf("; an earlier call to it has hung for %v", oldest.Round(time.Second))
	}
	return value, errdefs.Unavailable.WrapErrorf(lateError{x}, reason.NotAnswering, "%s", text)
}

// childTime returns how long an operation waits for one of many: half of what is left of its caller's time, so that the
// caller gets the answers of the others, but never so short that a slow disk would be taken for a missing one.
func (o *Operation) childTime() time.Duration {
	if left := time.Until(o.deadline); left > 0 {
		return max(minChild, min(childTime, left/2))
	}
	return childTime
}
