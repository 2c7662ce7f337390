// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"
)

// requestIDHeader is the response header with the id that the call has in the agent's log.
const requestIDHeader = "x-request-id"

// newRequestID makes the id of one call. The caller's own is not taken: it would let one client forge the trace of
// another.
func newRequestID() string {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails, see crypto/rand
	return hex.EncodeToString(id[:])
}

// identify is the interceptor that gives the call its id: in the context's logger and in a response header.
func identify(logger klog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		id := newRequestID()
		_ = grpc.SetHeader(ctx, metadata.Pairs(requestIDHeader, id)) // fails only when headers were sent already
		return next(withRequestID(ctx, logger, id), request)
	}
}

func withRequestID(ctx context.Context, logger klog.Logger, id string) context.Context {
	return klog.NewContext(context.WithValue(ctx, requestIDKey{}, id), klog.LoggerWithValues(logger, "requestID", id))
}

// audit is the interceptor that writes one line for each call: failures always, the rest at level 2. It counts them
// too. Requests are never written, they may hold secrets.
func audit(e Endpoint, metrics *Metrics) grpc.UnaryServerInterceptor {
	observe := metrics.of(e)
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		begin := time.Now()
		response, err := next(ctx, request)
		took := time.Since(begin)
		observe(info.FullMethod, status.Code(err), took)
		report(ctx, e, info.FullMethod, took, err)
		return response, err
	}
}

// report writes the audit line of a call that is over.
func report(ctx context.Context, e Endpoint, method string, took time.Duration, err error) {
	logger := klog.FromContext(ctx)
	fields := func() []any {
		return []any{"endpoint", e.Name, "method", method, "client", client(ctx), "duration", took.Round(time.Microsecond), "code", status.Code(err).String()}
	}
	switch status.Code(err) {
	case codes.OK:
		if logger = logger.V(2); logger.Enabled() { // or the fields would be made for nothing, with every call
			logger.Info("call served", fields()...)
		}
	case codes.Internal, codes.DataLoss, codes.Unknown:
		logger.Error(err, "call failed", fields()...)
	default:
		logger.Info("call failed", append(fields(), "err", status.Convert(err).Message())...)
	}
}

// client names the calling process as far as the transport can tell.
func client(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		return p.Addr.String()
	}
	return ""
}

// limit is the interceptor that gives the call its method's deadline. A shorter one of the caller's wins.
func limit(limits map[string]time.Duration) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		most, ok := limits[info.FullMethod]
		if !ok {
			most = LimitRead // health
		}
		ctx, cancel := context.WithTimeout(ctx, most)
		defer cancel()
		return next(ctx, request)
	}
}
