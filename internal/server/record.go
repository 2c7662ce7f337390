// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	"google.golang.org/grpc"
)

// A Record is told of a call as it begins. The functions that it returns are told of the request, unless it could not be
// read, and of the end. The request is the message that was decoded: that of the version that was called where it is
// mapped, otherwise that of the newest one. The handler, which is called next, may change it.
type Record func(RecordedCall) (request func(message any), end func(err error))

// RecordedCall is a call that begins.
type RecordedCall struct {
	RequestID string
	Endpoint  string // "csi-proxy-disk-v1"
	Method    string // "/v1.Disk/ListDiskIDs"
}

type requestIDKey struct{}

// RequestID is the id of the call that a context belongs to, also a context that outlives the call; "" when there is
// none.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// requestKey is the context key of the function that is told of the request.
type requestKey struct{}

// record is the interceptor that tells of calls. A nil record gives none.
func record(e Endpoint, record Record) []grpc.UnaryServerInterceptor {
	if record == nil {
		return nil
	}
	return []grpc.UnaryServerInterceptor{
		func(ctx context.Context, _ any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			request, end := record(RecordedCall{RequestID: RequestID(ctx), Endpoint: e.Name, Method: info.FullMethod})
			response, err := next(context.WithValue(ctx, requestKey{}, request), nil)
			end(err)
			return response, err
		},
	}
}

// telling decodes a request and tells those who record the call: interceptors do not get to see it, see
// Service.description.
func telling(ctx context.Context, decode func(any) error) func(any) error {
	tell, ok := ctx.Value(requestKey{}).(func(any))
	if !ok {
		return decode
	}
	return func(request any) error {
		err := decode(request)
		if err == nil {
			tell(request)
		}
		return err
	}
}
