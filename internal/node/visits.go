// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/internal/operation"
)

// visits makes the look at a share's mapping and the opening of files there one step with regard to the removal of the
// mapping: walks visit a share side by side, and a removal keeps them out. Otherwise a walk that had just seen the
// mapping would open the share without it, which sends the server the credentials of the machine's own account.
//
// Each share is on its own: a server that hangs holds up the removal of its own mapping only. A removal that waits lets
// no further walk in, so walks that follow one another without a gap cannot keep it waiting for ever.
type visits struct {
	gates operation.KeyedLocks // by share; a walk passes, a removal stays

	mu     sync.Mutex
	shares map[string]*visited
}

// visited is a share while walks are on it.
type visited struct {
	walks int
	over  chan struct{} // closed when the last one has left
}

// enter begins a walk's visit to a share, once no removal is in the way. Leave may be called more than once.
func (v *visits) enter(ctx context.Context, share string) (leave func(), err error) {
	pass, err := v.gates.Acquire(ctx, share)
	if err != nil {
		return nil, err
	}
	defer pass()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shares == nil {
		v.shares = make(map[string]*visited)
	}
	there := v.shares[share]
	if there == nil {
		there = &visited{over: make(chan struct{})}
		v.shares[share] = there
	}
	there.walks++
	return sync.OnceFunc(func() { v.leave(share, there) }), nil
}

func (v *visits) leave(share string, there *visited) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if there.walks--; there.walks == 0 {
		delete(v.shares, share)
		close(there.over)
	}
}

// keepOut returns when nobody visits the share, and lets nobody in until release is called.
func (v *visits) keepOut(ctx context.Context, share string) (release func(), err error) {
	release, err = v.gates.Acquire(ctx, share)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	there := v.shares[share]
	v.mu.Unlock()
	if there == nil {
		return release, nil
	}
	select {
	case <-there.over: // nobody has entered since: the gate was closed
		return release, nil
	case <-ctx.Done():
		release()
		return nil, ctx.Err()
	}
}
