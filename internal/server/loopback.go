// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/calls"
	"github.com/kubernetes-csi/csi-proxy/internal/winfs"
)

// LoopbackConn is a gRPC connection for the calls of which a call of the API is made up. They are part of that call:
// they have its id, its place among the running calls and its client's rule, which applies to what they name. They are
// not recorded, counted or admitted by themselves.
type LoopbackConn struct {
	calls.NoStreams
	methods map[string]Method // by full path
}

// NewLoopbackConn returns a connection to endpoints.
func NewLoopbackConn(endpoints []Endpoint) *LoopbackConn {
	i := &LoopbackConn{methods: map[string]Method{}}
	for _, e := range endpoints {
		for _, service := range e.Services {
			for _, m := range service.Methods {
				i.methods[service.path(m)] = m
			}
		}
	}
	return i
}

// Invoke makes a call with the context of the call that it is part of. Options are for transports and have no effect.
func (i *LoopbackConn) Invoke(ctx context.Context, method string, request, response any, _ ...grpc.CallOption) error {
	m, ok := i.methods[method]
	if !ok {
		return status.Errorf(codes.Unimplemented, "unknown method %s", method)
	}
	answer, err := m.call(ctx, func(to any) error { return copyMessage(to, request) })
	if err != nil {
		return toStatus(err)
	}
	return copyMessage(response, answer)
}

// WithoutClientPolicy returns a context for what the agent looks at for itself during a call: the client's rule does
// not apply.
func WithoutClientPolicy(ctx context.Context) context.Context {
	return winfs.WithScope(context.WithValue(ctx, callKey{}, (*call)(nil)), nil)
}
