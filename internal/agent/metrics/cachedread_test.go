// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// However many ask, one reads. The value is reused for a while, even if it is a failure.
func TestReadingIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads, failure := 0, error(nil)
		r := &cachedRead[int]{timeout: time.Second, maxAge: 5 * time.Second, read: func() (int, error) {
			time.Sleep(100 * time.Millisecond)
			reads++
			return reads, failure
		}}
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if value, err := r.get(t.Context()); value != 1 || err != nil {
					t.Errorf("got %d, %v, want 1", value, err)
				}
			})
		}
		all.Wait()
		time.Sleep(4 * time.Second)
		if value, _ := r.get(t.Context()); value != 1 {
			t.Errorf("a fresh value was read again: %d", value)
		}
		time.Sleep(time.Second)
		failure = errors.New("no")
		for range 2 {
			if _, err := r.get(t.Context()); err != failure || reads != 2 { //nolint:errorlint // this very one
				t.Errorf("got %v in read %d, want the failure of the second", err, reads)
			}
		}
	})
}

// A read that hangs delays one caller by the time limit and later ones not at all. No second read begins beside it, and
// when it ends all callers get its value.
func TestReadingThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads, proceed := 0, make(chan struct{})
		r := &cachedRead[int]{timeout: time.Second, maxAge: 5 * time.Second, read: func() (int, error) {
			reads++
			<-proceed
			return reads, nil
		}}
		hasty, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.get(hasty); !errors.Is(err, errLate) {
			t.Error("a caller that hung up got an answer")
		}
		for i, want := range []time.Duration{time.Second, 0, 0} {
			begin := time.Now()
			if _, err := r.get(t.Context()); !errors.Is(err, errLate) || time.Since(begin) != want {
				t.Errorf("caller %d: got %v after %v, want to be late after %v", i, err, time.Since(begin), want)
			}
			time.Sleep(10 * time.Second)
		}
		close(proceed)
		synctest.Wait()
		if value, err := r.get(t.Context()); value != 1 || err != nil || reads != 1 {
			t.Errorf("afterwards: got %d, %v after %d reads, want 1", value, err, reads)
		}
	})
}
