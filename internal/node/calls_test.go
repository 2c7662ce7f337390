// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// start runs change in the background and gives its result later.
func startChange(ctx context.Context, c *calls, j job, f func(o *op) (int, error)) func() (int, error) {
	type result struct {
		value int
		err   error
	}
	results := make(chan result, 1)
	go func() {
		value, err := change(ctx, c, j, f)
		results <- result{value, err}
	}()
	return func() (int, error) { r := <-results; return r.value, r.err }
}

func TestIdenticalCallsShareOneRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCalls(nil, nil)
		runs, proceed := 0, make(chan struct{})
		f := func(*op) (int, error) { runs++; <-proceed; return runs, nil }
		j := job{what: "test", key: "k", locks: []string{"l"}}
		first := startChange(t.Context(), c, j, f)
		synctest.Wait()
		second := startChange(t.Context(), c, j, f)
		synctest.Wait()
		close(proceed)
		for _, result := range []func() (int, error){first, second} {
			if value, err := result(); value != 1 || err != nil {
				t.Errorf("got %d, %v, want 1, nil", value, err)
			}
		}
		third := startChange(t.Context(), c, j, f)
		if value, _ := third(); value != 2 {
			t.Errorf("a later call got run %d, want its own, 2", value)
		}
	})
}

func TestFreshCallDoesNotJoinWhatHasBegun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCalls(nil, nil)
		runs, proceed := 0, make(chan struct{})
		f := func(*op) (int, error) { runs++; <-proceed; return runs, nil }
		j := job{what: "test", key: "k", locks: []string{"l"}, fresh: true}
		begun := startChange(t.Context(), c, j, f)
		synctest.Wait()
		queued := startChange(t.Context(), c, j, f)
		synctest.Wait()
		joined := startChange(t.Context(), c, j, f)
		synctest.Wait()
		close(proceed)
		for i, want := range []int{1, 2, 2} {
			if value, _ := []func() (int, error){begun, queued, joined}[i](); value != want {
				t.Errorf("call %d got run %d, want %d", i, value, want)
			}
		}
	})
}

func TestLockOutlivesTheCallerThatGaveUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCalls(nil, nil)
		proceed, finished := make(chan struct{}), false
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		slow := startChange(ctx, c, job{what: "slow", key: "slow", locks: []string{"disk 1"}}, func(*op) (int, error) {
			<-proceed
			finished = true
			return 0, nil
		})
		_, err := slow()
		var failure *Error
		if !errors.As(err, &failure) || failure.Class != DeadlineExceeded {
			t.Fatalf("got %v, want DeadlineExceeded", err)
		}
		next := startChange(t.Context(), c, job{what: "next", key: "next", locks: []string{"disk 1"}}, func(*op) (int, error) {
			if !finished {
				t.Error("the next operation began before the abandoned one had ended")
			}
			return 0, nil
		})
		other := startChange(t.Context(), c, job{what: "other", key: "other", locks: []string{"disk 2"}}, func(*op) (int, error) { return 7, nil })
		if value, err := other(); value != 7 || err != nil {
			t.Errorf("another disk: %d, %v", value, err)
		}
		close(proceed)
		if _, err := next(); err != nil {
			t.Error(err)
		}
	})
}

func TestNobodyLeftWaitingMeansNothingBegins(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCalls(nil, nil)
		proceed := make(chan struct{})
		holder := startChange(t.Context(), c, job{what: "holder", locks: []string{"l"}}, func(*op) (int, error) { <-proceed; return 0, nil })
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		j := job{what: "queued", key: "k", locks: []string{"l"}}
		given := startChange(ctx, c, j, func(*op) (int, error) { t.Error("began although nobody waits"); return 0, nil })
		synctest.Wait()
		cancel()
		if _, err := given(); err == nil {
			t.Error("a cancelled call succeeded")
		}
		again := startChange(t.Context(), c, j, func(*op) (int, error) { return 5, nil })
		synctest.Wait()
		close(proceed)
		if value, err := again(); value != 5 || err != nil {
			t.Errorf("the next caller got %d, %v, want its own run", value, err)
		}
		_, _ = holder()
	})
}

func TestPanicEndsOneCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCalls(nil, nil)
		j := job{what: "test", key: "k", locks: []string{"l"}}
		_, err := change(t.Context(), c, j, func(*op) (int, error) { panic("boom") })
		var failure *Error
		if !errors.As(err, &failure) || failure.Class != Internal || failure.Reason != "PANIC" {
			t.Fatalf("got %v, want Internal, PANIC", err)
		}
		if value, err := change(t.Context(), c, j, func(*op) (int, error) { return 3, nil }); value != 3 || err != nil {
			t.Errorf("the next call got %d, %v: the panic kept its lock", value, err)
		}
	})
}

func TestDrainWaitsForWhatCallersLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCalls(nil, nil)
		ctx, cancel := context.WithCancel(t.Context())
		proceed := make(chan struct{})
		left := startChange(ctx, c, job{what: "left", locks: []string{"l"}}, func(*op) (int, error) { <-proceed; return 0, nil })
		synctest.Wait()
		cancel()
		_, _ = left()
		expired, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := c.drain(expired); err == nil {
			t.Error("drained while an operation runs")
		}
		close(proceed)
		if err := c.drain(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
