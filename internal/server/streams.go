// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"
)

// guardStream is the interceptor of the streams: health watches and reflection, which no driver's work depends on.
// They end as soon as the server drains, or they would hold the agent's stop up to its limit.
func guardStream(e Endpoint, ids *requestIDs, logger klog.Logger, draining <-chan struct{}) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
		ctx, cancel := context.WithCancel(&call{Context: stream.Context(), id: ids.next(), logger: logger})
		defer cancel()
		begin := time.Now()
		defer func() {
			if cause := recover(); cause != nil {
				err = panicked(ctx, info.FullMethod, cause)
			}
			if code := status.Code(err); code != codes.Canceled && code != codes.Unavailable {
				report(ctx, e, info.FullMethod, time.Since(begin), err)
			}
		}()
		stopped := make(chan struct{})
		defer close(stopped)
		go func() {
			select {
			case <-draining:
				cancel()
			case <-stopped:
			}
		}()
		return next(srv, &drainedStream{ServerStream: stream, ctx: ctx, draining: draining})
	}
}

// drainedStream is a stream whose context ends and whose receiving fails when the server drains.
type drainedStream struct {
	grpc.ServerStream
	ctx      context.Context //nolint:containedctx // a ServerStream is asked for its context
	draining <-chan struct{}
}

func (s *drainedStream) Context() context.Context { return s.ctx }

// RecvMsg leaves a goroutine behind when it gives up; the end of the stream, which follows at once, ends it.
func (s *drainedStream) RecvMsg(message any) error {
	received := make(chan error, 1)
	go func() { received <- s.ServerStream.RecvMsg(message) }()
	select {
	case err := <-received:
		return err
	case <-s.draining:
		return status.Error(codes.Unavailable, "the agent is stopping")
	}
}
