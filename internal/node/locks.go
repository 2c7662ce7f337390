// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"strconv"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// keyedLocks is one mutex a name, kept only while somebody holds or awaits it.
type keyedLocks struct {
	mu    sync.Mutex
	locks map[string]*keyedLock
}

type keyedLock struct {
	held  chan struct{} // holds one element while locked
	users int
}

// acquire waits for the named lock, or for the context's end.
func (l *keyedLocks) acquire(ctx context.Context, name string) (release func(), err error) {
	l.mu.Lock()
	if l.locks == nil {
		l.locks = make(map[string]*keyedLock)
	}
	lock := l.locks[name]
	if lock == nil {
		lock = &keyedLock{held: make(chan struct{}, 1)}
		l.locks[name] = lock
	}
	lock.users++
	l.mu.Unlock()

	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if lock.users--; lock.users == 0 {
			delete(l.locks, name)
		}
	}
	select {
	case lock.held <- struct{}{}:
		return func() { <-lock.held; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

func diskLock(number uint32) string { return "disk " + strconv.FormatUint(uint64(number), 10) }

func volumeLock(id winpath.VolumeID) string { return "volume " + id.String() }

func pathLock(p winpath.Path) string { return "path " + p.Key() }
