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

// streamWorkers is how many goroutines of an endpoint serve one call after the other. More calls at a time get new ones,
// whose stacks have to grow first: that costs as much as a tenth of a short call.
const streamWorkers = 32

// A Server serves a set of endpoints, each with its own listener and gRPC server.
type Server struct {
	endpoints []Endpoint
	transport Transport
	ids       *requestIDs
	draining  chan struct{}
	running   []*running
	serving   sync.WaitGroup // the endpoints' accepting goroutines
	stop      sync.Once
}

// Options are what a Server needs beside its endpoints. The zero value is usable.
type Options struct {
	Metrics *Metrics    // counts the calls; may be nil
	Failed  func(error) // is told when a listener dies on its own; may be nil
	Logger  klog.Logger // gets the calls' lines; the zero value: klog's own
	Record  Record      // is told of every call; may be nil
	Disturb Disturbance // stands around the calls of the storage API; may be nil
	Limits  Limits      // of what clients may ask for; the zero value: the defaults
	// CallTimeout is how long every call of the endpoints may take; 0: as long as its method says.
	CallTimeout time.Duration
}

// Start opens the listeners of all endpoints, in their order, and serves them. When it returns every one of them
// accepts; when it fails none is left open.
func Start(t Transport, endpoints []Endpoint, o Options) (*Server, error) {
	s := &Server{endpoints: slices.Clone(endpoints), transport: t, ids: newRequestIDs(), draining: make(chan struct{})}
	if o.Logger.GetSink() == nil {
		o.Logger = klog.Background()
	}
	cs := newClients(o.Limits.complete(), o.Logger, o.Metrics)
	for _, e := range endpoints {
		l, err := t.Listen(e.Name)
		if err != nil {
			for _, r := range s.running {
				_ = r.listener.Close()
			}
			return nil, err
		}
		tracked := track(l, cs)
		s.running = append(s.running, &running{listener: tracked, prepare: func() (*grpc.Server, *health.Server) { return s.prepare(e, tracked, o) }})
	}
	for i, r := range s.running {
		r.accepts.Store(true)
		s.serving.Go(func() {
			err := r.serve()
			r.accepts.Store(false)
			if err != nil && !errors.Is(err, grpc.ErrServerStopped) && o.Failed != nil {
				o.Failed(fmt.Errorf("the endpoint %s stopped accepting: %w", t.Path(endpoints[i].Name), err))
			}
		})
	}
	return s, nil
}

func (s *Server) prepare(e Endpoint, l *listener, o Options) (*grpc.Server, *health.Server) {
	p := newPassage(e, s.ids, o)
	p.clients = l.clients
	g := grpc.NewServer(
		grpc.InTapHandle(p.deadline),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.UnaryInterceptor(p.pass),
		grpc.StreamInterceptor(p.stream(s.draining)),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.MaxRecvMsgSize(maxRequestBytes),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.ConnectionTimeout(silence),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
	)
	h := health.NewServer()
	g.RegisterService(healthDescription(h), h)
	for _, service := range e.Services {
		g.RegisterService(service.description(), nil)
		h.SetServingStatus(service.Name, healthpb.HealthCheckResponse_SERVING)
	}
	reflect(g)
	return g, h
}

// Endpoints are the endpoints that are served, in the order in which they were opened.
func (s *Server) Endpoints() []Endpoint { return slices.Clone(s.endpoints) }

// Accepts tells whether the endpoint of a name is served and its listener lives.
func (s *Server) Accepts(name string) bool {
	i := slices.IndexFunc(s.endpoints, func(e Endpoint) bool { return e.Name == name })
	return i >= 0 && s.running[i].accepts.Load()
}

// Path is where clients find an endpoint.
func (s *Server) Path(e Endpoint) string { return s.transport.Path(e.Name) }

// Stop says NOT_SERVING to health clients, stops accepting and waits until the running calls are over; when the
// context ends first it cuts them off and says so in its error. What a call set in motion on the node may outlive it. Later calls of Stop return nil at once.
func (s *Server) Stop(ctx context.Context) (err error) {
	s.stop.Do(func() { err = s.shutdown(ctx) })
	return err
}

func (s *Server) shutdown(ctx context.Context) error {
	defer s.unlisten()
	var servers []*grpc.Server
	for _, r := range s.running {
		if g := r.end(); g != nil {
			servers = append(servers, g)
		}
	}
	close(s.draining)
	var graceful sync.WaitGroup
	for _, g := range servers {
		graceful.Go(g.GracefulStop)
	}
	done := make(chan struct{})
	go func() { graceful.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	for _, r := range s.running {
		r.listener.drop(func(*conn) bool { return true })
	}
	var hard sync.WaitGroup
	for _, g := range servers {
		hard.Go(g.Stop)
	}
	hard.Wait()
	return errors.Join(errors.New("calls were cut off"), context.Cause(ctx))
}

// unlisten closes what gRPC may not have closed yet: a server that is stopped before it has begun to serve closes its
// listener only when it gets to it, and a socket or pipe that outlives Stop is in its successor's way.
func (s *Server) unlisten() {
	for _, r := range s.running {
		_ = r.listener.Close()
	}
	s.serving.Wait()
}
