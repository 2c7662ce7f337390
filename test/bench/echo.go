// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// serveEcho serves gRPC without options or interceptors. It ends with its standard input, as the process that started
// it does.
func serveEcho(address string) error {
	l, err := listen(address)
	if err != nil {
		return err
	}
	s := echoServer()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		s.Stop()
	}()
	return s.Serve(l)
}

// echoServer returns a server that sends back what it gets.
func echoServer() *grpc.Server {
	s := grpc.NewServer()
	s.RegisterService(&grpc.ServiceDesc{ServiceName: "bench.Echo", Methods: []grpc.MethodDesc{{
		MethodName: "Echo",
		Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			message := new(wrapperspb.BytesValue)
			return message, decode(message)
		},
	}}}, nil)
	return s
}

// A call is a call that is measured.
type call func(context.Context) error

// echoOf returns an echo call whose request and response together are as long as those of another call.
func echoOf(conn *grpc.ClientConn, request, response proto.Message) call {
	const overhead = 2 // tag and length of the field
	message := wrapperspb.Bytes(make([]byte, max((proto.Size(request)+proto.Size(response))/2-overhead, 0)))
	return callOf(conn, "/bench.Echo/Echo", message, message)
}

func callOf(conn *grpc.ClientConn, method string, request, response proto.Message) call {
	return func(ctx context.Context) error {
		return conn.Invoke(ctx, method, request, response.ProtoReflect().New().Interface())
	}
}
