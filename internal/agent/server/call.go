// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"google.golang.org/grpc/peer"
	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/limits"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
)

// call is what the agent knows of one call.
type call struct {
	id      string
	conn    *limits.Conn    // nil when the client is in this process
	slot    *limits.Slot    // nil until the call may run, while it is idle, and if the client is in this process
	wake    func()          // ends what Idle began; nil: the call is not idle
	stop    context.Context //nolint:containedctx // ends when the server begins to stop; nil: in this process
	method  string
	rule    *policy.Rule // nil: the client may do everything, or nothing
	scope   operation.Scope
	records []Record
}

// callKey is the context key of the call that a context belongs to.
type callKey struct{}

// newCall returns the context of a new call: with the call, and a logger that puts the call's id on every line.
func newCall(ctx context.Context, logger klog.Logger) (context.Context, *call) {
	c := &call{id: newRequestID()}
	if p, ok := peer.FromContext(ctx); ok {
		c.conn, _ = p.AuthInfo.(*limits.Conn)
	}
	ctx = klog.NewContext(context.WithValue(ctx, callKey{}, c), klog.LoggerWithValues(logger, "requestID", c.id))
	return ctx, c
}

// newRequestID returns a new id. An id from the caller is not used: it would let one client forge the trace of another.
func newRequestID() string {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails, see crypto/rand
	return hex.EncodeToString(id[:])
}

// callOf returns the call that a context belongs to, nil when there is none.
func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// client returns the caller, as of the moment when this connection was accepted.
func (c *call) client() transport.Peer {
	if c.conn == nil {
		return transport.Peer{InProcess: true}
	}
	return transport.PeerOf(c.conn.Conn)
}

// LeaseOf keeps the slot of the call that a context belongs to, for an operation that may outlive the call: until
// release, it counts as one of its client's running calls. It returns nil for a context without such a call.
func LeaseOf(ctx context.Context) (release func()) {
	if c := callOf(ctx); c != nil && c.slot != nil {
		c.slot.Retain()
		return c.slot.Release
	}
	return nil
}

// Idle gives up the slot of the context's call while the call only waits. It fails if too many calls of the connection
// do that already. The context wait ends with the call's or when the server begins to stop; its cause is then the error
// of the call. Resume waits for another slot, as a new call does.
func Idle(ctx context.Context) (wait context.Context, resume func() error, err error) {
	c := callOf(ctx)
	if c == nil || c.slot == nil {
		return ctx, func() error { return nil }, nil
	}
	done, err := c.conn.OpenWait()
	if err != nil {
		return nil, nil, err
	}
	wait, cancel := context.WithCancelCause(ctx)
	unwatch := context.AfterFunc(c.stop, func() {
		cancel(errdefs.Unavailable.Errorf(reason.NodeNotServed,
			"the agent is stopping, and the call was still waiting: nothing was changed. Try again, as kubelet does"))
	})
	c.wake = func() { unwatch(); cancel(nil); done(); c.wake = nil }
	c.slot.Release()
	c.slot = nil
	return wait, func() error {
		defer c.wake()
		return c.acquire(wait)
	}, nil
}

// acquire waits for the call's slot.
func (c *call) acquire(ctx context.Context) (err error) {
	c.slot, err = c.conn.Client().Acquire(ctx, c.method)
	return err
}

// RequestID returns the id of the call that a context belongs to, even one that outlives the call; "" without a call.
func RequestID(ctx context.Context) string {
	if c := callOf(ctx); c != nil {
		return c.id
	}
	return ""
}
