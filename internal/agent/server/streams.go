// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// stream is the interceptor of streams: health watches and reflection. They have no deadline, and count as open calls.
// They end as soon as the server drains, or they would delay the agent's stop up to its limit.
//
// Calls are counted in the interceptors and not in gRPC's tap handle, which comes a little earlier: what is refused
// there keeps a timer for the whole of the deadline that its client chose.
func (p *interceptors) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo,
	next grpc.StreamHandler) (err error) {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	ctx, c := newCall(ctx, p.Logger)
	begin := time.Now()
	defer func() {
		if cause := recover(); cause != nil {
			err = panicked(ctx, info.FullMethod, cause)
		}
		if code := status.Code(err); code != codes.Canceled && code != codes.Unavailable {
			p.report(ctx, c, info.FullMethod, time.Since(begin), err)
		}
	}()
	done, err := c.conn.OpenCall() // streams come over connections only
	if err != nil {
		return toStatus(err)
	}
	defer done()
	defer context.AfterFunc(p.stop, cancel)()
	return next(srv, &drainedStream{stream, ctx})
}

// drainedStream is a stream whose context ends and whose RecvMsg fails when the server drains.
type drainedStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // a ServerStream is asked for its context
}

func (s *drainedStream) Context() context.Context { return s.ctx }

// RecvMsg leaves a goroutine behind when it gives up; the end of the stream, which follows at once, ends it.
func (s *drainedStream) RecvMsg(message any) error {
	received := make(chan error, 1)
	go func() { received <- s.ServerStream.RecvMsg(message) }()
	select {
	case err := <-received:
		return err
	case <-s.ctx.Done():
		return status.Error(codes.Unavailable, "the agent is stopping")
	}
}
