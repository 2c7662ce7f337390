// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"k8s.io/klog/v2"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/limits"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
)

// Limits of one connection.
const (
	maxRequestBytes = 64 << 10 // a request is a few paths
	maxHeaderBytes  = 4 << 10  // clients send none of their own
	maxStreams      = 64       // concurrent calls
	// bytes of a request that are buffered before they are read; fixed, or clients could raise it
	streamWindow = 64 << 10
	minPing      = 5 * time.Second // between a client's keepalive pings
	silence      = 2 * time.Minute // after which a connection that sent nothing is dropped
)

// A Server serves a set of endpoints, each with its own listener and gRPC server.
type Server struct {
	listeners transport.Endpoints
	endpoints []Endpoint
	clients   *limits.Clients
	draining  context.Context //nolint:containedctx // ends when the server begins to stop
	drain     context.CancelFunc
	running   []*running
	serving   sync.WaitGroup // the endpoints' accepting goroutines
	stop      sync.Once
}

// running is one endpoint whose listener is open.
type running struct {
	endpoint Endpoint
	listener net.Listener
	grpc     *grpc.Server
	health   *health.Server
	accepts  atomic.Bool
}

// Options configure a Server. The zero value is usable.
type Options struct {
	Metrics   *Metrics       // counts the calls; may be nil
	Failed    func(error)    // called when a listener dies on its own; may be nil
	Logger    klog.Logger    // for the lines about calls; the zero value: klog's own
	Recorders []Recorder     // called for every call, in this order
	Policy    *policy.Policy // decides what clients of the storage API may do; nil: everything
	Limits    limits.Limits  // on clients; the zero value: the defaults
	// CallTimeout is how long every call of the endpoints may take; 0: the method's own limit.
	CallTimeout time.Duration
}

// complete fills in klog's own logger, and metrics that nothing collects.
func (o Options) complete() Options {
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil)
	}
	if o.Logger.GetSink() == nil {
		o.Logger = klog.Background()
	}
	return o
}

// Start opens the listeners of all endpoints, in their order. When it returns, all accept; when it fails, none is open.
func Start(listeners transport.Endpoints, endpoints []Endpoint, o Options) (*Server, error) {
	o = o.complete()
	s := &Server{listeners: listeners, endpoints: slices.Clone(endpoints),
		clients: limits.New(o.Limits, o.Logger, o.Metrics.clients)}
	s.draining, s.drain = context.WithCancel(context.Background())
	for _, e := range endpoints {
		l, err := listeners.Listen(e.Name, e.Private)
		if err != nil {
			s.drain()
			s.unlisten()
			return nil, err
		}
		r := &running{endpoint: e, listener: s.clients.Listen(l), health: health.NewServer()}
		p := newInterceptors(e, o)
		p.stop = s.draining
		r.grpc = s.prepare(r, p)
		s.running = append(s.running, r)
	}
	for _, r := range s.running {
		r.accepts.Store(true)
		s.serving.Go(func() {
			err := r.grpc.Serve(r.listener)
			r.accepts.Store(false)
			if err != nil && !errors.Is(err, grpc.ErrServerStopped) && o.Failed != nil {
				o.Failed(fmt.Errorf("the endpoint %s stopped accepting: %w", listeners.Path(r.endpoint.Name), err))
			}
		})
	}
	return s, nil
}

func (s *Server) prepare(r *running, p *interceptors) *grpc.Server {
	g := grpc.NewServer(
		grpc.Creds(peerCredentials{insecure.NewCredentials()}),
		grpc.InTapHandle(p.deadline),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(maxRequestBytes),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.ConnectionTimeout(silence),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
	)
	g.RegisterService(healthService(r.health).description(p), nil)
	for _, service := range r.endpoint.Services {
		g.RegisterService(service.description(p), nil)
		r.health.SetServingStatus(service.Name, healthpb.HealthCheckResponse_SERVING)
	}
	return g
}

// peerCredentials makes the connection of a call its AuthInfo: the operating system names the process at its other end.
type peerCredentials struct {
	credentials.TransportCredentials
}

func (peerCredentials) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, ok := c.(*limits.Conn)
	if !ok {
		return nil, nil, fmt.Errorf("a connection of an unknown kind: %T", c)
	}
	return conn, conn, nil
}

// Endpoints returns the endpoints that are served, in the order in which they were opened.
func (s *Server) Endpoints() []Endpoint { return slices.Clone(s.endpoints) }

// Accepts reports whether an endpoint is served and its listener lives.
func (s *Server) Accepts(name string) bool {
	return slices.ContainsFunc(s.running, func(r *running) bool { return r.endpoint.Name == name && r.accepts.Load() })
}

// Limits returns the limits of the endpoints' clients, and how full they are.
func (s *Server) Limits() []*admin.Limit { return s.clients.Facts() }

// Path returns where clients find an endpoint.
func (s *Server) Path(e Endpoint) string { return s.listeners.Path(e.Name) }

// Stop reports NOT_SERVING to health clients, stops accepting and waits until the running calls are over; when the
// context ends first, it cuts them off and says so. Operations may outlive it. Later calls return nil at once.
func (s *Server) Stop(ctx context.Context) (err error) {
	s.stop.Do(func() { err = s.shutdown(ctx) })
	return err
}

func (s *Server) shutdown(ctx context.Context) error {
	defer s.unlisten()
	for _, r := range s.running {
		r.health.Shutdown()
	}
	s.drain()
	s.clients.Close()
	done := make(chan struct{})
	go func() { s.each((*grpc.Server).GracefulStop); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	s.clients.DropAll()
	s.each((*grpc.Server).Stop)
	return errors.Join(errors.New("calls were cut off"), context.Cause(ctx))
}

// each calls a function for all gRPC servers concurrently.
func (s *Server) each(do func(*grpc.Server)) {
	var all sync.WaitGroup
	for _, r := range s.running {
		all.Go(func() { do(r.grpc) })
	}
	all.Wait()
}

// unlisten closes listeners that gRPC may not have closed yet: a server that is stopped before it begins to serve
// closes its listener only when it gets to it, and a socket or pipe that outlives Stop is in its successor's way.
func (s *Server) unlisten() {
	for _, r := range s.running {
		_ = r.listener.Close()
	}
	s.serving.Wait()
}
