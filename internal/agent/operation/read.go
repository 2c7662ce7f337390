// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"slices"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
)

// Read runs an operation that changes nothing, on a goroutine of its own. It never joins another caller's read, which
// may have looked before a change that this caller knows of. If the context ends first, the operation continues without
// a caller; while several reads of the same object are stuck, because Windows does not answer, no more are started.
func Read[T any](ctx context.Context, r *Runner, request Request,
	f func(o *Operation) (T, error)) (value T, err error) {
	for _, x := range request.stuckObjects() {
		if err := r.refuseStuck(x); err != nil {
			return value, err
		}
	}
	entry, release := r.register(ctx, request)
	entry.Update(func(t *task) { t.begun = true }) // it waits for no lock
	o := r.newOperation(ctx, request, &reading{caller: ctx}, entry)
	r.tell(request, Queued)
	r.tell(request, Begun)
	var a Answer[T]
	done := o.start(release, func() (err error) { a.Value, err = f(o); return err },
		func(err error) { a.Err = err; r.tell(request, Ended) })
	select {
	case <-done:
		return a.Value, a.Err
	case <-ctx.Done():
		r.tell(request, GaveUp)
		entry.Update(func(t *task) { t.left = time.Now() })
		return value, gaveUp(ctx.Err(), request, asksAgain)
	}
}

// reading is an operation that changes nothing. Its caller may give it up until its first kernel call.
type reading struct {
	caller context.Context //nolint:containedctx // of the one call that the operation is for
	begun  bool
}

func (k *reading) mayCall() error {
	if !k.begun && k.caller.Err() != nil {
		return k.caller.Err()
	}
	k.begun = true
	return nil
}

func (k *reading) waiting() context.Context { return k.caller }

// Reads that hang in Windows continue after their callers have given up, each on a goroutine and, on Windows, a thread
// of its own. Another read of the same object would only add one more; reads of other objects are not affected.
const (
	stuckAfter = 2 * time.Second // how long after its caller gave up a read counts as stuck
	maxStuck   = 2               // reads of one object that may be stuck
)

// refuseStuck refuses a read when the allowed number of reads of the object are stuck already.
func (r *Runner) refuseStuck(x Object) error {
	count, oldest := r.unanswered(x, stuckAfter)
	if count < maxStuck {
		return nil
	}
	return errdefs.Unavailable.Errorf(reason.NotAnswering,
		"%s is not responding: %d calls are stuck in Windows (oldest %v); retry later", x, count,
		oldest.Round(time.Second))
}

// refuseHanging refuses a change that is about to lock an object, and would hang too: at a disk or volume of which
// reads are stuck, or behind another change that its callers gave up. An identical change joins that one instead.
func (o *Operation) refuseHanging(x Object) (err error) {
	if (x.class == volumeClass || x.class == diskClass) && !o.Request.Undoes {
		err = o.runner.refuseStuck(x)
	}
	o.runner.tasks.Each(func(since time.Time, t *task) {
		if err == nil && t.stuck(stuckAfter) && slices.ContainsFunc(t.held, x.same) {
			err = errdefs.Unavailable.Errorf(reason.NotAnswering, "%s is not responding: %s has not ended for %v, and its "+
				"callers gave up; retry later", x, t.request, time.Since(since).Round(time.Second))
		}
	})
	return err
}

// unanswered counts the operations at an object whose callers gave up so long ago, and returns the age of the oldest.
func (r *Runner) unanswered(x Object, after time.Duration) (count int, oldest time.Duration) {
	r.tasks.Each(func(since time.Time, t *task) {
		if t.stuck(after) && (t.at.same(x) || slices.ContainsFunc(t.request.stuckObjects(), x.same)) {
			count, oldest = count+1, max(oldest, time.Since(since))
		}
	})
	return count, oldest
}

// stuck reports whether the callers of a task gave it up that long ago.
func (t *task) stuck(after time.Duration) bool {
	return !t.left.IsZero() && time.Since(t.left) >= after
}

// TrackObject notes that a read is about to ask an object other than its own, such as the share that a path leads to.
// It refuses if that object is stuck, and a change at the list of mappings. Until restore, a hang counts against it.
func (o *Operation) TrackObject(x Object) (restore func(), err error) {
	if _, changes := o.kind.(*call); !changes || x.same(SMBMappings) && !o.Request.Undoes {
		if err := o.runner.refuseStuck(x); err != nil {
			return nil, err
		}
	}
	var before Object
	o.entry.Update(func(t *task) { before, t.at = t.at, x })
	return func() { o.entry.Update(func(t *task) { t.at = before }) }, nil
}
