// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"sync"
	"time"
)

// cachedRead is a value that one goroutine reads from the node when old. A hanging read delays only its first caller.
type cachedRead[T any] struct {
	read    func() (T, error)
	timeout time.Duration // how long a caller waits for a read
	maxAge  time.Duration // how long a value is reused

	mu    sync.Mutex
	value T
	err   error
	at    time.Time     // when value and err were read; zero: never
	over  chan struct{} // closed when the running read is over; nil: none runs
	since time.Time     // when it began
}

// errLate means that there was no answer in time. The read goes on, for later callers.
var errLate = errors.New("no answer from Windows in time")

// get returns a recent value, or errLate.
func (r *cachedRead[T]) get(ctx context.Context) (value T, err error) {
	r.mu.Lock()
	if r.over == nil {
		if !r.at.IsZero() && time.Since(r.at) < r.maxAge {
			defer r.mu.Unlock()
			return r.value, r.err
		}
		r.over, r.since = make(chan struct{}), time.Now()
		go r.run(r.over)
	}
	over, left := r.over, r.timeout-time.Since(r.since)
	r.mu.Unlock()

	timer := time.NewTimer(max(0, left))
	defer timer.Stop()
	select {
	case <-over:
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.value, r.err
	case <-timer.C:
	case <-ctx.Done():
	}
	return value, errLate
}

func (r *cachedRead[T]) run(over chan struct{}) {
	value, err := r.read()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.value, r.err, r.at, r.over = value, err, time.Now(), nil
	close(over)
}
