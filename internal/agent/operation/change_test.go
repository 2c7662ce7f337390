// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// startChange runs change in the background and returns a function that waits for its result.
func startChange(ctx context.Context, n *Runner, request Request, f func(o *Operation) (int, error)) func() (int, error) {
	type result struct {
		value int
		err   error
	}
	results := make(chan result, 1)
	go func() {
		value, err := Change(ctx, n, request, f)
		results <- result{value, err}
	}()
	return func() (int, error) { r := <-results; return r.value, r.err }
}

func TestLockOutlivesCancelledCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewRunner(Config{})
		proceed, finished := make(chan struct{}), false
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		slow := startChange(ctx, n, On("slow", Disk(1)), func(*Operation) (int, error) {
			<-proceed
			finished = true
			return 0, nil
		})
		_, err := slow()
		var failure *errdefs.Error
		if !errors.As(err, &failure) || failure.Class != errdefs.DeadlineExceeded {
			t.Fatalf("got %v, want DeadlineExceeded", err)
		}
		next := startChange(t.Context(), n, On("next", Disk(1)), func(*Operation) (int, error) {
			if !finished {
				t.Error("the next operation began before the abandoned one had ended")
			}
			return 0, nil
		})
		other := startChange(t.Context(), n, On("other", Disk(2)), func(*Operation) (int, error) { return 7, nil })
		if value, err := other(); value != 7 || err != nil {
			t.Errorf("another disk: %d, %v", value, err)
		}
		synctest.Wait() // the next operation waits, or it has begun
		close(proceed)
		if _, err := next(); err != nil {
			t.Error(err)
		}
	})
}

func TestOperationWithoutCallersDoesNotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewRunner(Config{})
		proceed := make(chan struct{})
		holder := startChange(t.Context(), n, On("holder", Disk(1)),
			func(*Operation) (int, error) { <-proceed; return 0, nil })
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		j := On("queued", Disk(1))
		given := startChange(ctx, n, j, func(*Operation) (int, error) { t.Error("began although no caller waits"); return 0, nil })
		synctest.Wait()
		cancel()
		if _, err := given(); err == nil {
			t.Error("a cancelled call succeeded")
		}
		again := startChange(t.Context(), n, j, func(*Operation) (int, error) { return 5, nil })
		synctest.Wait()
		close(proceed)
		if value, err := again(); value != 5 || err != nil {
			t.Errorf("the next caller got %d, %v, want its own run", value, err)
		}
		_, _ = holder()
	})
}

func TestDrainWaitsForAbandonedOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewRunner(Config{})
		ctx, cancel := context.WithCancel(t.Context())
		proceed := make(chan struct{})
		left := startChange(ctx, n, On("left", Disk(1)), func(*Operation) (int, error) { <-proceed; return 0, nil })
		synctest.Wait()
		cancel()
		_, _ = left()
		expired, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := n.Drain(expired); err == nil {
			t.Error("drained while an operation runs")
		}
		close(proceed)
		if err := n.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestChangeThatHasBegunRunsToItsEnd: it gets the locks that it needs later, though its caller has left, and a caller
// that repeats it meanwhile gets its result.
func TestChangeThatHasBegunRunsToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewRunner(Config{})
		runs, proceed := 0, make(chan struct{})
		j := On("test", Disk(1))
		f := func(o *Operation) (int, error) {
			runs++
			if err := o.Commit(); err != nil {
				return 0, err
			}
			<-proceed
			return runs, o.Lock(Volume(winpath.VolumeID{}))
		}
		ctx, leave := context.WithCancel(t.Context())
		left := startChange(ctx, n, j, f)
		synctest.Wait()
		leave()
		if _, err := left(); err == nil {
			t.Error("the call that was given up has a result")
		}
		again := startChange(t.Context(), n, j, f)
		synctest.Wait()
		close(proceed)
		if value, err := again(); value != 1 || err != nil {
			t.Errorf("got run %d, %v, want 1", value, err)
		}
	})
}

// TestChangesOfWhatHangsAreRefused: behind a change that its callers gave up, and of a disk whose reads are stuck. An
// identical change joins, one that undoes is tried, other disks are not affected, and all is well once the hang ends.
func TestChangesOfWhatHangsAreRefused(t *testing.T) {
	proceed := make(chan struct{})
	hang := func(o *Operation) (int, error) {
		if err := o.Commit(); err != nil {
			return 0, err
		}
		<-proceed
		return 1, nil
	}
	inPhase := func(o *Operation) (value int, err error) {
		return 1, o.Phase(func() error { _, err := hang(o); return err }, Disk(1))
	}
	undoes := On("UnmountVolume", Disk(1))
	undoes.Undoes = true
	for name, test := range map[string]struct {
		hangs      func(ctx context.Context, n *Runner) error
		join, undo bool
	}{
		"a change": {join: true, hangs: func(ctx context.Context, n *Runner) error {
			_, err := Change(ctx, n, On("FormatVolume", Disk(1)), hang)
			return err
		}},
		"a phase of a change": {hangs: func(ctx context.Context, n *Runner) error {
			_, err := Change(ctx, n, On("StageDisk", VolumeDevice("v")), inPhase)
			return err
		}},
		"two reads": {undo: true, hangs: func(ctx context.Context, n *Runner) error {
			_, err := Read(ctx, n, On("GetDiskStats", Disk(1)), hang)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := NewRunner(Config{})
				proceed = make(chan struct{})
				for range 2 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					err := test.hangs(ctx, n)
					cancel()
					if !errdefs.HasReason(err, reason.StillRunning) {
						t.Fatalf("got %v, want that it runs", err)
					}
				}
				time.Sleep(stuckAfter)
				now := func(*Operation) (int, error) { return 2, nil }
				begin := time.Now()
				_, err := Change(t.Context(), n, On("ResizeVolume", Disk(1)), now)
				if !errdefs.HasReason(err, reason.NotAnswering) || time.Since(begin) > 0 {
					t.Errorf("another change of the disk, after %v: %v", time.Since(begin), err)
				}
				if _, err := Change(t.Context(), n, undoes, now); (err == nil) != test.undo {
					t.Errorf("a change that undoes: %v", err)
				}
				if value, err := Change(t.Context(), n, On("ResizeVolume", Disk(2)), now); value != 2 || err != nil {
					t.Errorf("another disk: %d, %v", value, err)
				}
				joined := startChange(t.Context(), n, On("FormatVolume", Disk(1)), hang)
				synctest.Wait()
				close(proceed)
				if _, err := joined(); (err == nil) != test.join {
					t.Errorf("an identical change: %v", err)
				}
				if err := n.Drain(t.Context()); err != nil {
					t.Fatal(err)
				}
				if value, err := Change(t.Context(), n, On("ResizeVolume", Disk(1)), now); value != 2 || err != nil {
					t.Errorf("when Windows answers again: %d, %v", value, err)
				}
			})
		})
	}
}

// TestEndOfACallKeepsItsSuccessor: callers join the operation that waits, also after the one before it has ended.
func TestEndOfACallKeepsItsSuccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewRunner(Config{})
		runs, proceed, between := 0, make(chan struct{}), make(chan struct{})
		f := func(*Operation) (int, error) { runs++; <-proceed; return runs, nil }
		j := On("test", Disk(1))
		j.JoinQueuedOnly = true
		first := startChange(t.Context(), n, j, f)
		synctest.Wait()
		other := startChange(t.Context(), n, On("other", Disk(1)), func(*Operation) (int, error) { <-between; return 0, nil })
		synctest.Wait()
		second := startChange(t.Context(), n, j, f)
		synctest.Wait()
		close(proceed)
		_, _ = first()
		joined := startChange(t.Context(), n, j, f)
		synctest.Wait()
		close(between)
		for _, result := range []func() (int, error){second, joined} {
			if value, err := result(); value != 2 || err != nil {
				t.Errorf("got run %d, %v, want 2", value, err)
			}
		}
		_, _ = other()
	})
}
