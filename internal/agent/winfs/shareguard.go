// SPDX-License-Identifier: Apache-2.0

package winfs

import (
	"context"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
)

// shareGuard makes two steps one: checking a share's mapping, and opening files on the share. Walks hold a share
// concurrently; a removal locks it exclusively. Otherwise a walk could open the share after its mapping was removed,
// and send the server the credentials of the machine's own account.
//
// Each share has its own lock: a hanging server delays the removal of its own mapping only. A waiting removal admits no
// further walk, so a sequence of walks cannot delay it without end.
type shareGuard struct {
	mutexes operation.KeyedLocks // by share; shared by walks, exclusive for a removal

	mu     sync.Mutex
	shares map[string]*heldShare
}

// heldShare is a share while walks are on it.
type heldShare struct {
	walks int
	over  chan struct{} // closed when the last one has left
}

// enter holds a share for a walk, once no removal is in the way. Leave may be called more than once.
func (g *shareGuard) enter(ctx context.Context, share string) (leave func(), err error) {
	unlock, err := g.mutexes.Acquire(ctx, share)
	if err != nil {
		return nil, err
	}
	defer unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shares == nil {
		g.shares = make(map[string]*heldShare)
	}
	held := g.shares[share]
	if held == nil {
		held = &heldShare{over: make(chan struct{})}
		g.shares[share] = held
	}
	held.walks++
	return sync.OnceFunc(func() { g.leave(share, held) }), nil
}

func (g *shareGuard) leave(share string, held *heldShare) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if held.walks--; held.walks == 0 {
		delete(g.shares, share)
		close(held.over)
	}
}

// lockExclusive returns when no walk holds the share, and keeps others out until release is called.
func (g *shareGuard) lockExclusive(ctx context.Context, share string) (release func(), err error) {
	release, err = g.mutexes.Acquire(ctx, share)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	held := g.shares[share]
	g.mu.Unlock()
	if held == nil {
		return release, nil
	}
	select {
	case <-held.over: // none has begun since
		return release, nil
	case <-ctx.Done():
		release()
		return nil, ctx.Err()
	}
}

// LockShare keeps walks off a share until release is called, once those that are on it have left.
func (fs *FS) LockShare(key string) (release func(), err error) {
	if release, err = fs.policy.shares.lockExclusive(fs.run.Context, key); err != nil {
		return nil, fs.run.GaveUp()
	}
	return release, nil
}
