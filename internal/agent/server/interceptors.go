// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"path"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
)

// requestIDHeader is the response header with the call's id in the agent's log. It is set if that has a line about it.
const requestIDHeader = "x-request-id"

// interceptors are those of one endpoint.
type interceptors struct {
	Options
	endpoint Endpoint
	limits   map[string]time.Duration // by method
	count    grpc.UnaryServerInterceptor
	stop     context.Context //nolint:containedctx // ends when the server begins to stop; nil: in this process
}

func newInterceptors(e Endpoint, o Options) *interceptors {
	p := &interceptors{Options: o, endpoint: e, limits: map[string]time.Duration{},
		count: o.Metrics.calls.UnaryServerInterceptor()}
	for _, service := range append(slices.Clone(e.Services), healthService(nil)) {
		for _, m := range service.Methods {
			p.limits[service.Path(m)] = cmp.Or(o.CallTimeout, m.Limit)
		}
	}
	return p
}

// around returns a method's handler inside the interceptors. Recording and counting stand outside: they show what the
// caller sees. Decoding happens inside, so that a malformed request is logged and counted like every other failure; the
// interceptors never see the request.
func (p *interceptors) around(method string, inner Handler) Handler {
	info := &grpc.UnaryServerInfo{FullMethod: method}
	return func(ctx context.Context, decode func(any) error) (any, error) {
		return p.count(ctx, nil, info, func(ctx context.Context, _ any) (any, error) {
			return p.serve(ctx, method, func(ctx context.Context) (any, error) {
				return inner(ctx, recordRequest(ctx, decode))
			})
		})
	}
}

func (p *interceptors) serve(ctx context.Context, method string,
	next func(context.Context) (any, error)) (any, error) {
	begin := time.Now()
	// for calls in this process; over a connection, deadline has set the limit already
	ctx, cancel := context.WithTimeout(ctx, p.limits[method])
	defer cancel()
	ctx, c := newCall(ctx, p.Logger)
	c.stop = p.stop
	rule, refusal := p.authorize(c, method)
	c.record(p.Recorders, CallInfo{RequestID: c.id, Endpoint: p.endpoint.Name, Method: method,
		Client: c.client(), Rule: rule})
	response, err := any(nil), refusal
	if err == nil {
		response, err = admit(errdefs.WithGaps(ctx, func(why string) {
			_ = grpc.SetTrailer(ctx, metadata.Pairs(errdefs.GapsTrailer, why)) // fails only when the answer was sent already
		}), c, method, next)
	}
	p.decided(ctx, c, method, err)
	took := time.Since(begin)
	if err != nil || p.Logger.V(servedLevel(method)).Enabled() {
		_ = grpc.SetHeader(ctx, metadata.Pairs(requestIDHeader, c.id)) // fails only when headers were sent already
		p.report(ctx, c, method, took, err)
	}
	answer, _ := response.(proto.Message)
	for _, r := range c.records {
		r.End(answer, err)
	}
	return response, err
}

// admit waits for the call's slot and runs the handler. Health checks need none: they answer when all calls hang.
func admit(ctx context.Context, c *call, method string,
	next func(context.Context) (any, error)) (_ any, err error) {
	if c.conn == nil { // in this process
		return handle(ctx, method, next)
	}
	done, err := c.conn.OpenCall()
	if err != nil {
		return nil, toStatus(err)
	}
	defer done()
	if !isHealth(method) {
		c.method = path.Base(method)
		if err = c.acquire(ctx); err != nil {
			return nil, toStatus(err)
		}
		defer func() {
			if c.wake != nil {
				c.wake()
			}
			if c.slot != nil {
				c.slot.Release()
			}
		}()
	}
	return handle(ctx, method, next)
}

// handle runs the handler. A panic ends only the call, and every error becomes a gRPC status.
func handle(ctx context.Context, method string,
	next func(context.Context) (any, error)) (response any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			response, err = nil, toStatus(operation.Panicked(ctx, method, cause))
		}
	}()
	if response, err = next(ctx); err != nil {
		return nil, toStatus(err)
	}
	return response, nil
}

// servedLevel returns the level of the log at which a method's successes are in it: those of health checks, which come
// every few seconds, would hide the drivers' calls.
func servedLevel(method string) int {
	if isHealth(method) {
		return 4
	}
	return 2
}

// report logs a call that is over: a failure always, others if the level asks for them; never its request, which may
// hold secrets.
func (p *interceptors) report(ctx context.Context, c *call, method string, took time.Duration, err error) {
	logger, client := klog.FromContext(ctx), c.client().String()
	if err != nil && c.conn != nil {
		told, leftOut := c.conn.Client().MayLog()
		if !told {
			return
		}
		if leftOut > 0 {
			logger.Info("too many failures of this client's calls: some were left out of the log", "client",
				client, "calls", leftOut)
		}
	}
	fields := []any{"endpoint", p.endpoint.Name, "method", method, "client", client, "duration",
		took.Round(time.Microsecond), "code", status.Code(err).String()}
	switch status.Code(err) {
	case codes.OK:
		logger.V(servedLevel(method)).Info("call served", fields...)
	case codes.Internal, codes.DataLoss, codes.Unknown:
		logger.Error(err, "call failed", fields...)
	default:
		logger.Info("call failed", append(fields, "err", status.Convert(err).Message())...)
	}
}
