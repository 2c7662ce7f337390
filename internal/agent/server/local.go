// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Local is a gRPC connection to endpoints in the same process. A call is audited, counted and its errors mapped as over
// a socket, but the limits of clients do not apply. Messages are copied, as the caller keeps its own.
type Local struct {
	NoStreams
	methods map[string]localMethod // by full path, which is different in each version
}

// NoStreams is the half of a gRPC connection that the API does not use.
type NoStreams struct{}

// NewStream fails: no method of the API streams.
func (NoStreams) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "the CSI Proxy API has no streams")
}

type localMethod struct {
	interceptors *interceptors
	info         *grpc.UnaryServerInfo
	call         func(ctx context.Context, decode func(any) error) (any, error)
}

// NewLocal returns a connection to endpoints.
func NewLocal(endpoints []Endpoint, o Options) *Local {
	l := &Local{methods: map[string]localMethod{}}
	for _, e := range endpoints {
		p := newInterceptors(e, o.complete())
		for _, service := range e.Services {
			for _, m := range service.Methods {
				l.methods[service.Path(m)] = localMethod{interceptors: p,
					info: &grpc.UnaryServerInfo{FullMethod: service.Path(m)}, call: m.call}
			}
		}
	}
	return l
}

// Invoke makes a call. Options are for transports and have no effect.
func (l *Local) Invoke(ctx context.Context, method string, request, response any, _ ...grpc.CallOption) error {
	m, ok := l.methods[method]
	if !ok {
		return status.Errorf(codes.Unimplemented, "unknown method %s", method)
	}
	if err := ctx.Err(); err != nil { // as over a socket, nothing is begun
		return status.FromContextError(err).Err()
	}
	answer, err := m.interceptors.unary(ctx, nil, m.info, func(ctx context.Context, _ any) (any, error) {
		return m.call(ctx, recordRequest(ctx, func(to any) error { return copyMessage(to, request) }))
	})
	if err != nil {
		return err
	}
	return copyMessage(response, answer)
}

// copyMessage copies a message by way of its bytes: the two may be of different types with the same encoding.
func copyMessage(to, from any) error {
	dst, okTo := to.(proto.Message)
	src, okFrom := from.(proto.Message)
	if !okTo || !okFrom {
		return status.Errorf(codes.Internal, "cannot copy a %T to a %T", from, to)
	}
	bytes, err := proto.Marshal(src)
	if err == nil {
		err = proto.Unmarshal(bytes, dst)
	}
	if err != nil {
		return status.Errorf(codes.Internal, "copying a message: %v", err)
	}
	return nil
}
