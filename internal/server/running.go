// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
)

// running is one endpoint whose listener is open. Its gRPC server, with its goroutines and its tables, is made when the
// first client comes: drivers use a few of the endpoints, and the others cost their listener alone.
type running struct {
	listener *listener
	prepare  func() (*grpc.Server, *health.Server)
	accepts  atomic.Bool

	mu     sync.Mutex
	over   bool           // no server is made any more
	grpc   *grpc.Server   // nil: no client has come yet
	health *health.Server // likewise
}

// serve accepts clients until the endpoint is stopped, or its listener fails with the error that it returns.
func (r *running) serve() error {
	first, err := r.listener.Accept()
	g := r.server()
	if g == nil {
		if err == nil {
			_ = first.Close()
		}
		return nil
	}
	if err != nil {
		return g.Serve(r.listener) // which knows what errors pass
	}
	return g.Serve(&resumed{Listener: r.listener, first: first})
}

// server is the gRPC server, nil when the endpoint is being stopped.
func (r *running) server() *grpc.Server {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return nil
	}
	r.grpc, r.health = r.prepare()
	return r.grpc
}

// end tells health clients that the endpoint is going, and returns the gRPC server that is to be stopped. Without one it
// closes the listener itself and returns nil.
func (r *running) end() *grpc.Server {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	if r.grpc == nil {
		_ = r.listener.Close()
		return nil
	}
	r.health.Shutdown()
	return r.grpc
}

// resumed is a listener whose first client was accepted before.
type resumed struct {
	net.Listener
	first net.Conn // nil once it is given; Accept is called by one goroutine
}

func (l *resumed) Accept() (net.Conn, error) {
	if first := l.first; first != nil {
		l.first = nil
		return first, nil
	}
	return l.Listener.Accept()
}
