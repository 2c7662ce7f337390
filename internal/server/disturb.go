// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	"google.golang.org/grpc"
)

// A Disturbance stands around the calls of the storage API, not of others, to let them fail on purpose. It is inside of
// what records and counts them, so that these tell what the caller sees.
type Disturbance interface {
	// Around serves a call of a path on the wire by do, or not at all. Its error is the call's. Cut says that the
	// connection is closed without an answer.
	Around(ctx context.Context, path string, do func() error) (cut bool, err error)
}

// disturbed returns a handler with the disturbance around it.
func disturbed(d Disturbance, path string, next grpc.UnaryHandler) grpc.UnaryHandler {
	return func(ctx context.Context, request any) (response any, err error) {
		cut, err := d.Around(ctx, path, func() (err error) { response, err = next(ctx, request); return err })
		if c := callOf(ctx); cut && c.conn != nil {
			_ = c.conn.Close() // the client sees that it is closed, whatever this says
		}
		return response, err
	}
}
