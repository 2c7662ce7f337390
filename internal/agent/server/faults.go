// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	"google.golang.org/grpc"
)

// A FaultInjector wraps the calls of the storage API, and no others, to make them fail on purpose. Recording and
// counting stand around it, so that they show what the caller sees.
type FaultInjector interface {
	// Around serves a call of a path on the wire by do, or not at all. Its error is the call's. With cut, the connection
	// is closed without an answer.
	Around(ctx context.Context, path string, do func() error) (cut bool, err error)
}

// withFaults returns a handler whose calls the injector may make fail.
func withFaults(d FaultInjector, path string, next grpc.UnaryHandler) grpc.UnaryHandler {
	return func(ctx context.Context, request any) (response any, err error) {
		cut, err := d.Around(ctx, path, func() (err error) { response, err = next(ctx, request); return err })
		if c := callOf(ctx); cut && c.conn != nil {
			_ = c.conn.Close() // whatever this returns, the client sees a closed connection
		}
		return response, err
	}
}
