// SPDX-License-Identifier: Apache-2.0

package server

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that is wrapped
	"google.golang.org/grpc/mem"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
)

// codec is gRPC's own except for malformed requests. gRPC would answer these with INTERNAL before any interceptor runs,
// but that code is for failures of the agent, which operators look into; here the caller is at fault.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// incoming is a request to be read.
type incoming struct {
	message any
	problem error // decoding the bytes
}

// Unmarshal decodes a message. The error of an incoming request is kept for reading.
func (c codec) Unmarshal(data mem.BufferSlice, to any) error {
	in, ok := to.(*incoming)
	if !ok {
		return c.CodecV2.Unmarshal(data, to)
	}
	if err := c.CodecV2.Unmarshal(data, in.message); err != nil {
		in.problem = withReason(codes.InvalidArgument, "the request is not a valid message of this method: "+err.Error(),
			reason.MalformedRequest, nil)
	}
	return nil
}

// decodeRequest wraps decode to return the error of a malformed request, as the caller gets it.
func decodeRequest(decode func(any) error) func(any) error {
	return func(to any) error {
		in := &incoming{message: to}
		if err := decode(in); err != nil {
			return err
		}
		return in.problem
	}
}
