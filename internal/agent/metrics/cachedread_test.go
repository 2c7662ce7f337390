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
				if value, late, err := r.get(t.Context()); value != 1 || late || err != nil {
					t.Errorf("got %d, %t, %v, want 1", value, late, err)
				}
			})
		}
		all.Wait()
		time.Sleep(4 * time.Second)
		if value, _, _ := r.get(t.Context()); value != 1 {
			t.Errorf("a fresh value was read again: %d", value)
		}
		time.Sleep(time.Second)
		failure = errors.New("no")
		for range 2 {
			if _, late, err := r.get(t.Context()); late || err != failure || reads != 2 { //nolint:errorlint // this very one
				t.Errorf("got %t, %v in read %d, want the failure of the second", late, err, reads)
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
		if _, late, _ := r.get(hasty); !late {
			t.Error("a caller that hung up got an answer")
		}
		for i, want := range []time.Duration{time.Second, 0, 0} {
			begin := time.Now()
			if _, late, err := r.get(t.Context()); !late || err != nil || time.Since(begin) != want {
				t.Errorf("caller %d: got %t, %v after %v, want to be late after %v", i, late, err, time.Since(begin), want)
			}
			time.Sleep(10 * time.Second)
		}
		close(proceed)
		synctest.Wait()
		if value, late, err := r.get(t.Context()); value != 1 || late || err != nil || reads != 1 {
			t.Errorf("afterwards: got %d, %t, %v after %d reads, want 1", value, late, err, reads)
		}
	})
}
