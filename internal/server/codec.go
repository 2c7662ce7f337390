// SPDX-License-Identifier: Apache-2.0

package server

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that is wrapped
	"google.golang.org/grpc/mem"
)

// codec is gRPC's own but for requests that are no messages: gRPC answers these with INTERNAL, before anybody else is
// asked. That class is for failures of the agent, which operators look into; here the caller is at fault.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// incoming is a request to be read.
type incoming struct {
	message any
	problem error // of the bytes
}

// Unmarshal reads a message. What is wrong with an incoming one is for its reader.
func (c codec) Unmarshal(data mem.BufferSlice, to any) error {
	in, ok := to.(*incoming)
	if !ok {
		return c.CodecV2.Unmarshal(data, to)
	}
	if err := c.CodecV2.Unmarshal(data, in.message); err != nil {
		in.problem = withReason(codes.InvalidArgument, "the request is no message of this method: "+err.Error(), "MALFORMED_REQUEST", nil)
	}
	return nil
}

// reading decodes a request; its error is the caller's answer.
func reading(decode func(any) error) func(any) error {
	return func(to any) error {
		in := &incoming{message: to}
		if err := decode(in); err != nil {
			return err
		}
		return in.problem
	}
}
