// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
)

// A panic ends one operation, and keeps none of its locks.
func TestPanicEndsOneOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewRunner(Config{})
		_, change := Change(t.Context(), n, On("test", Disk(1)), func(*Operation) (int, error) { panic("boom") })
		_, read := Read(t.Context(), n, On("test"), func(o *Operation) (int, error) {
			if err := o.Lock(Disk(1)); err != nil {
				return 0, err
			}
			panic("boom")
		})
		for what, err := range map[string]error{"change": change, "read": read} {
			var failure *errdefs.Error
			if !errors.As(err, &failure) || failure.Class != errdefs.Internal || failure.Reason != reason.Panic {
				t.Errorf("%s: got %v, want Internal, PANIC", what, err)
			}
		}
		value, err := Change(t.Context(), n, On("test", Disk(1)), func(*Operation) (int, error) { return 3, nil })
		if value != 3 || err != nil {
			t.Errorf("the next call got %d, %v: a panic kept its lock", value, err)
		}
	})
}

// After the first few polls of an Object that hangs, further ones are refused at once, instead of each leaving one more
// goroutine behind; other reads, and short waits of impatient callers, are not affected.
func TestReadsThatHangAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewRunner(Config{})
		proceed := make(chan struct{})
		var begun atomic.Int32
		poll := func(x Object) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := Read(ctx, n, On("GetDiskStats", x),
				func(*Operation) (int, error) { begun.Add(1); <-proceed; return 1, nil })
			return err
		}
		classOf := func(err error) errdefs.Class {
			var failure *errdefs.Error
			if !errors.As(err, &failure) {
				t.Fatalf("got %v", err)
			}
			return failure.Class
		}
		for range 3 { // callers that wait less than two seconds count as impatient
			if got := classOf(poll(Disk(1))); got != errdefs.DeadlineExceeded {
				t.Fatalf("got class %v, want DeadlineExceeded", got)
			}
		}
		time.Sleep(stuckAfter)
		for range 100 {
			if got := classOf(poll(Disk(1))); got != errdefs.Unavailable {
				t.Fatalf("got class %v, want Unavailable", got)
			}
		}
		if begun.Load() != 3 {
			t.Errorf("%d reads began, want 3", begun.Load())
		}
		if value, err := Read(t.Context(), n, On("GetDiskStats", Disk(2)),
			func(*Operation) (int, error) { return 2, nil }); value != 2 || err != nil {
			t.Errorf("another disk: %d, %v", value, err)
		}
		close(proceed)
		if err := n.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if value, err := Read(t.Context(), n, On("GetDiskStats", Disk(1)),
			func(*Operation) (int, error) { return 3, nil }); value != 3 || err != nil {
			t.Errorf("when Windows answers again: %d, %v", value, err)
		}
	})
}

// holder counts the holds that are not released.
type holder struct{ held atomic.Int32 }

func (h *holder) hold(context.Context) (release func()) {
	h.held.Add(1)
	return func() { h.held.Add(-1) }
}

func TestLeaseIsHeldUntilOperationEnds(t *testing.T) {
	for name, start := range map[string]func(ctx context.Context, n *Runner, f func(*Operation) (int, error)) (int, error){
		"read": func(ctx context.Context, n *Runner, f func(*Operation) (int, error)) (int, error) {
			return Read(ctx, n, On("r"), f)
		},
		"change": func(ctx context.Context, n *Runner, f func(*Operation) (int, error)) (int, error) {
			return Change(ctx, n, On("c", Disk(1)), f)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &holder{}
				n := NewRunner(Config{})
				n.config.Lease = h.hold
				proceed := make(chan struct{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := start(ctx, n, func(*Operation) (int, error) { <-proceed; return 0, nil }); err == nil {
					t.Fatal("got an answer")
				}
				if got := h.held.Load(); got != 1 {
					t.Errorf("while it hangs %d are held, want 1", got)
				}
				close(proceed)
				_ = n.Drain(t.Context())
				if got := h.held.Load(); got != 0 {
					t.Errorf("when it is over %d are held, want 0", got)
				}
				if _, err := start(t.Context(), n, func(*Operation) (int, error) { panic("boom") }); err == nil ||
					h.held.Load() != 0 {
					t.Errorf("after a panic %d are held, %v", h.held.Load(), err)
				}
			})
		})
	}
}
