// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/tap"
)

// Bounds of Options.CallTimeout. Kubelet gives up after two minutes: a later answer would be lost.
const (
	minCallTimeout = time.Second
	maxCallTimeout = 115 * time.Second
)

// CheckCallTimeout returns an error if a value is out of range for Options.CallTimeout.
func CheckCallTimeout(d time.Duration) error {
	if d != 0 && (d < minCallTimeout || d > maxCallTimeout) {
		return fmt.Errorf("%v is not between %v and %v; kubelet gives up after two minutes", d,
			minCallTimeout, maxCallTimeout)
	}
	return nil
}

// deadline bounds a call from its first byte on: a client that sends half a request holds its slot no longer. It ends
// before the client's own deadline, at which a client reads no answer: that says what goes on, and how long it has.
func (p *interceptors) deadline(ctx context.Context, call *tap.Info) (context.Context, error) {
	limit, ok := p.limits[call.FullMethodName]
	if !ok {
		return ctx, nil // a stream, which has no limit, or an unknown method
	}
	if end, ok := ctx.Deadline(); ok {
		const longest = 2 * time.Second
		left := time.Until(end)
		limit = min(limit, left-min(longest, left/10))
	}
	timed, cancel := context.WithTimeout(ctx, limit) //nolint:gosec // see below
	// gRPC ends its context as soon as the call has been answered, and the timer goes with it
	_ = cancel
	return timed, nil
}
