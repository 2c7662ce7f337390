// SPDX-License-Identifier: Apache-2.0

// Package local is a gRPC connection to endpoints in the same process.
package local

import (
	"context"
	"maps"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

// Connection is a connection to endpoints: see server.InProcess. Messages are copied, as the caller keeps its own.
type Connection struct {
	NoStreams
	handlers map[string]server.Handler // by full path, which is different in each version
}

// NoStreams is the half of a gRPC connection that the API does not use.
type NoStreams struct{}

// NewStream fails: no method of the API streams.
func (NoStreams) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "the CSI Proxy API has no streams")
}

// New returns a connection to endpoints.
func New(endpoints []server.Endpoint, o server.Options) *Connection {
	c := &Connection{handlers: map[string]server.Handler{}}
	for _, e := range endpoints {
		maps.Copy(c.handlers, server.InProcess(e, o))
	}
	return c
}

// Invoke makes a call. Options are for transports and have no effect.
func (c *Connection) Invoke(ctx context.Context, method string, request, response any, _ ...grpc.CallOption) error {
	handle, ok := c.handlers[method]
	if !ok {
		return status.Errorf(codes.Unimplemented, "unknown method %s", method)
	}
	if err := ctx.Err(); err != nil { // as over a socket, nothing is begun
		return status.FromContextError(err).Err()
	}
	answer, err := handle(ctx, func(to any) error { return copyMessage(to, request) })
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
