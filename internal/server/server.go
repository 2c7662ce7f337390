// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"k8s.io/klog/v2"
)

// What a client may ask of one endpoint.
const (
	maxRequestBytes = 4 << 20         // a request is a few paths
	maxHeaderBytes  = 64 << 10        // clients send none of their own
	maxStreams      = 256             // concurrent calls of one connection
	minPing         = 5 * time.Second // between a client's keepalive pings
	silence         = 2 * time.Minute // until a connection that sent nothing is dropped
)

// A Server serves a set of endpoints, each with its own listener and gRPC server.
type Server struct {
	endpoints []Endpoint
	transport Transport
	draining  chan struct{}
	running   []*running
	stop      sync.Once
}

// Options are what a Server needs beside its endpoints. The zero value is usable.
type Options struct {
	Metrics *Metrics    // counts the calls; may be nil
	Failed  func(error) // is told when a listener dies on its own; may be nil
	Logger  klog.Logger // gets the calls' lines; the zero value: klog's own
	Record  Record      // is told of every call; may be nil
}

type running struct {
	listener *listener
	grpc     *grpc.Server
	health   *health.Server
}

// Start opens the listeners of all endpoints, in their order, and serves them. When it returns every one of them
// accepts; when it fails none is left open.
func Start(t Transport, endpoints []Endpoint, o Options) (*Server, error) {
	s := &Server{endpoints: slices.Clone(endpoints), transport: t, draining: make(chan struct{})}
	if o.Logger.GetSink() == nil {
		o.Logger = klog.Background()
	}
	for _, e := range endpoints {
		l, err := t.Listen(e.Name)
		if err != nil {
			for _, r := range s.running {
				_ = r.listener.Close()
			}
			return nil, err
		}
		s.running = append(s.running, s.prepare(e, track(l), o))
	}
	for i, r := range s.running {
		go func() {
			if err := r.grpc.Serve(r.listener); err != nil && o.Failed != nil {
				o.Failed(fmt.Errorf("the endpoint %s stopped accepting: %w", t.Path(endpoints[i].Name), err))
			}
		}()
	}
	return s, nil
}

func (s *Server) prepare(e Endpoint, l *listener, o Options) *running {
	limits := map[string]time.Duration{}
	for _, service := range e.Services {
		for _, m := range service.Methods {
			limits[service.path(m)] = m.Limit
		}
	}
	g := grpc.NewServer(
		grpc.ChainUnaryInterceptor(slices.Concat([]grpc.UnaryServerInterceptor{identify(o.Logger)}, record(e, o.Record),
			[]grpc.UnaryServerInterceptor{audit(e, o.Metrics), recoverCall, limit(limits), mapError})...),
		grpc.ChainStreamInterceptor(guardStream(e, o.Logger, s.draining)),
		grpc.MaxRecvMsgSize(maxRequestBytes),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.ConnectionTimeout(silence),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
	)
	h := health.NewServer()
	healthpb.RegisterHealthServer(g, h)
	for _, service := range e.Services {
		g.RegisterService(service.description(), nil)
		h.SetServingStatus(service.Name, healthpb.HealthCheckResponse_SERVING)
	}
	reflect(g)
	return &running{listener: l, grpc: g, health: h}
}

// Endpoints are the endpoints that are served, in the order in which they were opened.
func (s *Server) Endpoints() []Endpoint { return slices.Clone(s.endpoints) }

// Path is where clients find an endpoint.
func (s *Server) Path(e Endpoint) string { return s.transport.Path(e.Name) }

// Stop says NOT_SERVING to health clients, stops accepting and waits until the running calls are over; when the
// context ends first it cuts them off and says so in its error. What a call set in motion on the node may outlive it. Later calls of Stop return nil at once.
func (s *Server) Stop(ctx context.Context) (err error) {
	s.stop.Do(func() { err = s.shutdown(ctx) })
	return err
}

func (s *Server) shutdown(ctx context.Context) error {
	for _, r := range s.running {
		r.health.Shutdown()
	}
	close(s.draining)
	var graceful sync.WaitGroup
	for _, r := range s.running {
		graceful.Go(r.grpc.GracefulStop)
	}
	done := make(chan struct{})
	go func() { graceful.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	var hard sync.WaitGroup
	for _, r := range s.running {
		hard.Go(func() {
			r.listener.drop(func(*conn) bool { return true })
			r.grpc.Stop()
		})
	}
	hard.Wait()
	return errors.Join(errors.New("calls were cut off"), context.Cause(ctx))
}
