// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	echoService = "bench.Echo"
	echoPath    = "/" + echoService + "/Echo"
)

// serveEcho serves a gRPC server without options or interceptors until its standard input ends, which it does with the
// process that started it.
func serveEcho(socket string, stdin io.Reader) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	s := newEcho()
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		s.Stop()
	}()
	return s.Serve(l)
}

// newEcho is the bare server.
func newEcho() *grpc.Server {
	s := grpc.NewServer()
	s.RegisterService(&grpc.ServiceDesc{ServiceName: echoService, Methods: []grpc.MethodDesc{{
		MethodName: "Echo",
		Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			message := new(wrapperspb.BytesValue)
			if err := decode(message); err != nil {
				return nil, err
			}
			return message, nil
		},
	}}}, nil)
	return s
}

// echoOf is an echo whose request and response together have as many bytes as those of another call.
func echoOf(socket string, request, response proto.Message) subject {
	const overhead = 2 // tag and length of the field
	n := max((proto.Size(request)+proto.Size(response))/2-overhead, 0)
	return subject{
		name: "echo", socket: socket, path: echoPath,
		request: wrapperspb.Bytes(make([]byte, n)), response: (&wrapperspb.BytesValue{}).ProtoReflect().Type(),
	}
}
