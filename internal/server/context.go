// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"sync/atomic"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/node"
)

// call is the context of one call, with all that the agent adds to it in one value.
type call struct {
	context.Context
	id       string
	logger   klog.Logger // without the id
	recorded CallRecord  // nil when nobody records
	slot     slot        // of the call; unused when the client is in this process

	once sync.Once
	log  context.Context // holds nothing but the call's logger
}

// callKey is the context key under which a call finds itself.
type callKey struct{}

// Value makes the logger with the call's id when it is asked for: most calls write no line. It takes a value that
// nobody else has for the logger, as klog keeps its key to itself.
func (c *call) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return c
	}
	if value := c.Context.Value(key); value != nil {
		return value
	}
	c.once.Do(func() {
		c.log = klog.NewContext(context.Background(), klog.LoggerWithValues(c.logger, "requestID", c.id))
	})
	return c.log.Value(key)
}

// callOf is the call that a context belongs to, nil when there is none.
func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// Hold keeps the place of the call that a context belongs to, as something that it began goes on after the call: until
// Release, it counts as one of its client's calls that run. Without such a call it is nil.
func Hold(ctx context.Context) node.Held {
	if c := callOf(ctx); c != nil && c.slot.client != nil {
		c.slot.hold()
		return &c.slot
	}
	return nil
}

// RequestID is the id of the call that a context belongs to, also a context that outlives the call; "" when there is
// none.
func RequestID(ctx context.Context) string {
	if c := callOf(ctx); c != nil {
		return c.id
	}
	return ""
}

// requestIDs makes the ids of an agent's calls: a random number that tells agents and their restarts apart, and a
// counter. The caller's own id is not taken: it would let one client forge the trace of another.
type requestIDs struct {
	agent [4]byte
	count atomic.Uint32
}

func newRequestIDs() *requestIDs {
	ids := &requestIDs{}
	_, _ = rand.Read(ids.agent[:]) // never fails, see crypto/rand
	return ids
}

func (ids *requestIDs) next() string {
	var id [8]byte
	copy(id[:], ids.agent[:])
	binary.BigEndian.PutUint32(id[4:], ids.count.Add(1))
	return hex.EncodeToString(id[:])
}
