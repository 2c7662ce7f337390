// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// stream is the interceptor of the streams: health watches and reflection, which no driver's work depends on. They
// have no deadline, so their number is bounded. They end as soon as the server drains, or they would hold the agent's stop
// up to its limit.
//
// They are counted here and not in gRPC's tap handle, which comes a little earlier: a stream that is refused there keeps
// the timer of the deadline that its client chose, for as long as that is. Here the place is that of the handler's
// goroutine, whatever becomes of the stream.
func (p *passage) stream(draining <-chan struct{}) grpc.StreamServerInterceptor {
	return func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
		ctx, cancel := context.WithCancel(&call{Context: stream.Context(), id: p.ids.next(), logger: p.logger})
		defer cancel()
		begin := time.Now()
		defer func() {
			if cause := recover(); cause != nil {
				err = panicked(ctx, info.FullMethod, cause)
			}
			if code := status.Code(err); code != codes.Canceled && code != codes.Unavailable {
				report(ctx, p.endpoint, info.FullMethod, time.Since(begin), err)
			}
		}()
		if client := processOf(ctx); client != nil {
			if err := p.clients.openStream(client); err != nil {
				return err
			}
			defer p.clients.closeStream(client)
		}
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

// openStream counts a stream of a client that is no call of the API, or says that it is one too many. None waits: whoever
// has so many open does not end them soon.
func (cs *clients) openStream(client *process) error {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	switch {
	case client.streams >= cs.limits.ClientStreams:
		return tooManyStreams(fmt.Sprintf("%d health and reflection streams of this process are open already", cs.limits.ClientStreams))
	case cs.streams >= cs.limits.Streams:
		return tooManyStreams(fmt.Sprintf("%d health and reflection streams of all processes are open already", cs.limits.Streams))
	}
	client.streams++
	cs.streams++
	return nil
}

func tooManyStreams(why string) error {
	return withReason(status.New(codes.ResourceExhausted, why+"; end those that are not needed, or try again later"), "TOO_MANY_STREAMS", nil)
}

// closeStream ends what openStream counted.
func (cs *clients) closeStream(client *process) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	client.streams--
	cs.streams--
	cs.forget(client)
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
