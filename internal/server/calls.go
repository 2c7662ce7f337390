// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"
)

// requestIDHeader is the response header with the id that the call has in the agent's log. An answer has it when the
// log may have a line about the call: when the call failed, and at level 2. A header costs a frame of its own, which
// for the others would be a tenth of the whole call.
const requestIDHeader = "x-request-id"

// passage is what every call of one endpoint passes.
type passage struct {
	endpoint Endpoint
	ids      *requestIDs
	logger   klog.Logger
	record   Record      // may be nil
	disturb  Disturbance // may be nil
	metrics  methods
	limits   map[string]time.Duration // by method
	clients  *clients                 // nil when the only client is this process itself
}

func newPassage(e Endpoint, ids *requestIDs, o Options) *passage {
	p := &passage{
		endpoint: e, ids: ids, logger: o.Logger, record: o.Record, disturb: o.Disturb, metrics: o.Metrics.of(e),
		limits: map[string]time.Duration{},
	}
	for _, service := range append(slices.Clone(e.Services), healthService(nil)) {
		for _, m := range service.Methods {
			p.limits[service.path(m)] = cmp.Or(o.CallTimeout, m.Limit)
		}
	}
	return p
}

// pass is the interceptor of unary calls. It is one, as a chain of several costs a closure and a piece of stack for
// each: those who tell of the call stand around those who change its outcome, so that they tell what the caller sees.
func (p *passage) pass(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	begin := time.Now()
	ctx, cancel := p.bounded(ctx, info.FullMethod)
	defer cancel()
	c := &call{Context: ctx, id: p.ids.next(), logger: p.logger}
	if p.record != nil {
		c.recorded = p.record(RecordedCall{RequestID: c.id, Endpoint: p.endpoint.Name, Method: info.FullMethod, Client: client(ctx)})
	}
	counted := p.metrics.begin(info.FullMethod)
	if p.disturb != nil && p.endpoint.Group != "" && p.disturb.Active() {
		next = disturbed(p.disturb, info.FullMethod, next)
	}
	response, err := p.admit(c, request, info, next)
	took := time.Since(begin)
	counted.end(status.Code(err), took)
	if err != nil || p.logger.V(2).Enabled() {
		_ = grpc.SetHeader(c, metadata.Pairs(requestIDHeader, c.id)) // fails only when headers were sent already
		report(c, p.endpoint, info.FullMethod, took, err)
	}
	if c.recorded != nil {
		c.recorded.End(response, err)
	}
	return response, err
}

// admit waits for the call's turn and runs the handler. Health checks have places of their own: a node whose calls all
// hang is what they are asked about.
func (p *passage) admit(c *call, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	client := processOf(c)
	switch {
	case client == nil || p.clients == nil:
	case isHealth(info.FullMethod):
		if err := p.clients.openStream(client); err != nil {
			return nil, err
		}
		defer p.clients.closeStream(client)
	default:
		if err := p.clients.enter(c, client, &c.slot); err != nil {
			return nil, toStatus(err)
		}
		defer c.slot.Release()
	}
	return c.handle(request, info, next)
}

// handle runs the handler. A panic ends the call alone, and every error is made a gRPC status.
func (c *call) handle(request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (response any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			response, err = nil, panicked(c, info.FullMethod, cause)
		}
	}()
	if response, err = next(c, request); err != nil {
		return nil, toStatus(err)
	}
	return response, nil
}

// report writes the audit line of a call that is over: failures always, the rest at level 2. Requests are never
// written, they may hold secrets.
func report(ctx context.Context, e Endpoint, method string, took time.Duration, err error) {
	logger := klog.FromContext(ctx)
	if err != nil {
		told, leftOut := mayTell(ctx)
		if !told {
			return
		}
		if leftOut > 0 {
			logger.Info("failures of this client's calls were left out of the log, there were too many", "client", client(ctx), "calls", leftOut)
		}
	}
	fields := []any{"endpoint", e.Name, "method", method, "client", client(ctx), "duration", took.Round(time.Microsecond), "code", status.Code(err).String()}
	switch status.Code(err) {
	case codes.OK:
		logger.V(2).Info("call served", fields...)
	case codes.Internal, codes.DataLoss, codes.Unknown:
		logger.Error(err, "call failed", fields...)
	default:
		logger.Info("call failed", append(fields, "err", status.Convert(err).Message())...)
	}
}

// mayTell tells whether a line about the client's calls may be written, and how many were not.
func mayTell(ctx context.Context) (ok bool, leftOut int) {
	if p := processOf(ctx); p != nil {
		return p.lines.take()
	}
	return true, 0
}

// processOf is the process that a call came from, nil when it is this one.
func processOf(ctx context.Context) *process {
	if p, ok := peer.FromContext(ctx); ok {
		if at, ok := p.Addr.(connAddr); ok {
			return at.conn.process
		}
	}
	return nil
}

// client names the calling process as far as the transport can tell.
func client(ctx context.Context) string {
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		return p.Addr.String()
	}
	return ""
}
