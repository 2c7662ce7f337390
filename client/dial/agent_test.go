// SPDX-License-Identifier: Apache-2.0

package dial_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
)

// pipe is the name under which the tests' agent listens.
const pipe = "csi-proxy-disk-v1"

// testTimeout is how long a test waits for an event that must come; it is not an assertion.
const testTimeout = 30 * time.Second

// An agent serves disk v1 and counts its connections.
type agent struct {
	diskapi.UnimplementedDiskServer
	server   *grpc.Server
	accepted atomic.Int32
	closed   chan struct{} // one element for each closed connection
}

// GetDiskStats answers with the number that came, so that a reply proves a call.
func (a *agent) GetDiskStats(_ context.Context, request *diskapi.GetDiskStatsRequest) (*diskapi.GetDiskStatsResponse,
	error) {
	return &diskapi.GetDiskStatsResponse{TotalBytes: int64(request.GetDiskNumber())}, nil
}

// startAgent serves until the test ends or stop is called.
func startAgent(t *testing.T, name string) *agent {
	t.Helper()
	a := &agent{server: grpc.NewServer(), closed: make(chan struct{}, 100)}
	diskapi.RegisterDiskServer(a.server, a)
	listener := &countingListener{Listener: listen(t, name), agent: a}
	served := make(chan error, 1)
	go func() { served <- a.server.Serve(listener) }()
	t.Cleanup(func() {
		a.stop()
		if err := <-served; err != nil {
			t.Errorf("agent: %v", err)
		}
	})
	return a
}

// stop ends the agent as a crash would: connections break.
func (a *agent) stop() { a.server.Stop() }

// awaitClosed waits until n connections were closed.
func (a *agent) awaitClosed(t *testing.T, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	for i := range n {
		select {
		case <-a.closed:
		case <-ctx.Done():
			t.Fatalf("%d connections were closed, want %d", i, n)
		}
	}
}

type countingListener struct {
	net.Listener
	agent *agent
}

func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.agent.accepted.Add(1)
	return &countingConn{Conn: conn, closed: sync.OnceFunc(func() { l.agent.closed <- struct{}{} })}, nil
}

type countingConn struct {
	net.Conn
	closed func()
}

func (c *countingConn) Close() error {
	defer c.closed()
	return c.Conn.Close()
}
