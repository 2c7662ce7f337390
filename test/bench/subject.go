// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// A subject is one call that is measured.
type subject struct {
	name     string
	socket   string
	path     string // of the method on the wire
	request  proto.Message
	response protoreflect.MessageType
}

// call makes the call as a generated client does. It sets no deadline, as a client without one has the least to do.
func (s subject) call(ctx context.Context, conn *grpc.ClientConn, options ...grpc.CallOption) error {
	if err := conn.Invoke(ctx, s.path, s.request, s.response.New().Interface(), options...); err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	return nil
}

// answer makes the call once on a connection of its own and returns the response.
func (s subject) answer(ctx context.Context) (proto.Message, error) {
	conns, err := connect(s.socket, 1)
	if err != nil {
		return nil, err
	}
	defer conns.close()
	response := s.response.New().Interface()
	if err := conns[0].Invoke(ctx, s.path, s.request, response); err != nil {
		return nil, fmt.Errorf("%s: %w", s.path, err)
	}
	return response, nil
}

// withEmptyMessages is the echo of nothing.
func (s subject) withEmptyMessages() subject {
	s.request, s.response = &wrapperspb.BytesValue{}, (&wrapperspb.BytesValue{}).ProtoReflect().Type()
	return s
}
