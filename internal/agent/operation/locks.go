// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"sync"
)

// KeyedLocks is a set of mutexes by key, each kept while it is held or awaited. With a Size, so many may hold each.
type KeyedLocks struct {
	Size  int // 0: 1
	mu    sync.Mutex
	locks map[string]*keyedLock
}

type keyedLock struct {
	held  chan struct{} // holds an element for each holder
	users int
}

// Acquire waits for the lock of a key, or for the context's end.
func (l *KeyedLocks) Acquire(ctx context.Context, key string) (release func(), err error) {
	l.mu.Lock()
	if l.locks == nil {
		l.locks = make(map[string]*keyedLock)
	}
	lock := l.locks[key]
	if lock == nil {
		lock = &keyedLock{held: make(chan struct{}, max(1, l.Size))}
		l.locks[key] = lock
	}
	lock.users++
	l.mu.Unlock()

	stopWaiting := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if lock.users--; lock.users == 0 {
			delete(l.locks, key)
		}
	}
	select {
	case lock.held <- struct{}{}:
		return func() { <-lock.held; stopWaiting() }, nil
	case <-ctx.Done():
		stopWaiting()
		return nil, ctx.Err()
	}
}
