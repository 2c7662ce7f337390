// SPDX-License-Identifier: Apache-2.0

//go:build unix

package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"regexp"
	"runtime"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2/textlogger"

	api "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
)

// safeBuffer is a log that calls write to while the test reads it.
type safeBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// fixture is a server with one method on a real socket.
type fixture struct {
	server *server.Server
	dir    *transport.SocketDir
	conn   *grpc.ClientConn
	client api.FilesystemClient
	log    *safeBuffer
	failed chan error
}

func start(t *testing.T, do exists, more ...server.Endpoint) *fixture {
	t.Helper()
	f := &fixture{dir: openDir(t, t.TempDir()), log: &safeBuffer{}, failed: make(chan error, 1)}
	f.server = serve(t, f.dir, server.Options{
		Failed: func(err error) { f.failed <- err },
		Logger: textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(f.log), textlogger.Verbosity(2))),
	}, do, more...)
	f.conn = dial(t, f.dir)
	f.client = api.NewFilesystemClient(f.conn)
	return f
}

func (f *fixture) stop(t *testing.T) {
	t.Helper()
	if err := f.server.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestHealth(t *testing.T) {
	f := start(t, found)
	client := healthpb.NewHealthClient(f.conn)
	for _, service := range []string{"", "v1.Filesystem"} {
		r, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
		if err != nil || r.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("%q: got %v, %v", service, r, err)
		}
	}
	if watch, err := client.Watch(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Error(err)
	} else if _, err := watch.Recv(); status.Code(err) != codes.Unimplemented {
		t.Errorf("a stream: got %v, want Unimplemented, which clients take for health", err)
	}
}

// Successful health checks, which come every few seconds, do not fill a log of level 2; failed ones are in it.
func TestHealthChecksAreLeftOutOfTheLog(t *testing.T) {
	f := start(t, found)
	client := healthpb.NewHealthClient(f.conn)
	if _, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "none"}); err == nil {
		t.Error("a service that is not there is healthy")
	}
	if _, err := f.client.PathExists(t.Context(), &api.PathExistsRequest{}); err != nil {
		t.Fatal(err)
	}
	f.stop(t)
	for line, want := range map[string]int{
		`"call served" .* method="/grpc.health.v1.Health/Check" `: 0,
		`"call failed" .* method="/grpc.health.v1.Health/Check" `: 1,
		`"call served" .* method="/v1.Filesystem/PathExists" `:    1,
	} {
		if got := len(regexp.MustCompile(line).FindAllString(f.log.String(), -1)); got != want {
			t.Errorf("%s: %d lines, want %d:\n%s", line, got, want, f.log)
		}
	}
}

func TestStopWaitsForCallsAndDropsSilentClients(t *testing.T) {
	entered, proceed := make(chan struct{}), make(chan struct{})
	f := start(t, func(context.Context, string) (bool, error) {
		close(entered)
		<-proceed
		return true, nil
	})
	silent, err := net.Dial("unix", f.dir.Path(endpointName))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	result := make(chan error, 1)
	go func() {
		_, err := f.client.PathExists(t.Context(), &api.PathExistsRequest{})
		result <- err
	}()
	<-entered
	if _, err := silent.Read(make([]byte, 1<<10)); err != nil {
		t.Fatalf("the server's first bytes: %v", err) // its SETTINGS frame
	}
	stopped := make(chan error, 1)
	go func() { stopped <- f.server.Stop(t.Context()) }()
	if n, err := io.Copy(io.Discard, silent); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Logf("silent client: %d bytes, %v", n, err)
	}
	close(proceed)
	if err := <-result; err != nil {
		t.Errorf("the running call: %v", err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Stop: %v", err)
	}
	if err := f.server.Stop(t.Context()); err != nil {
		t.Errorf("a second Stop: %v", err)
	}
}

func TestStopCutsOffWhenItsContextEnds(t *testing.T) {
	entered := make(chan struct{})
	f := start(t, func(ctx context.Context, _ string) (bool, error) {
		close(entered)
		<-ctx.Done()
		return false, ctx.Err()
	})
	stuck, err := net.Dial("unix", f.dir.Path(endpointName))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stuck.Close() }()
	if _, err := stuck.Write([]byte("PRI *")); err != nil { // the beginning of a preface, and no more
		t.Fatal(err)
	}
	result := make(chan error, 1)
	go func() {
		_, err := f.client.PathExists(t.Context(), &api.PathExistsRequest{})
		result <- err
	}()
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	mustSay(t, f.server.Stop(ctx), "cut off")
	if err := <-result; status.Code(err) != codes.Unavailable {
		t.Errorf("the running call: got %v, want Unavailable", err)
	}
}

// dying is a socket directory whose listeners the test can break.
type dying struct {
	*transport.SocketDir
	opened []net.Listener
}

func (d *dying) Listen(name string, private bool) (net.Listener, error) {
	l, err := d.SocketDir.Listen(name, private)
	d.opened = append(d.opened, l)
	return l, err
}

func TestDeadListenerIsReported(t *testing.T) {
	listeners := &dying{SocketDir: openDir(t, t.TempDir())}
	failed := make(chan error, 1)
	s, err := server.Start(listeners, []server.Endpoint{{Name: "a"}, {Name: "b"}},
		server.Options{Failed: func(err error) { failed <- err }})
	if err != nil {
		t.Fatal(err)
	}
	if err := listeners.opened[1].Close(); err != nil {
		t.Fatal(err)
	}
	mustSay(t, <-failed, listeners.Path("b"), "stopped accepting")
	if !s.Accepts("a") || s.Accepts("b") || s.Accepts("c") {
		t.Errorf("accepting: got a %t, b %t, c %t, want a alone", s.Accepts("a"), s.Accepts("b"), s.Accepts("c"))
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStartOpensAllOrNone(t *testing.T) {
	listeners := openDir(t, t.TempDir())
	live, err := net.Listen("unix", listeners.Path("b"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = live.Close() }()
	_, err = server.Start(listeners, []server.Endpoint{{Name: "a"}, {Name: "b"}}, server.Options{})
	mustSay(t, err, listeners.Path("b"))
	if c, err := net.Dial("unix", listeners.Path("a")); err == nil {
		_ = c.Close()
		t.Error("the first endpoint is still open")
	}
}

// A server that is stopped right after its start leaves no socket: not even that of an endpoint that had no time to
// accept.
func TestStopRightAfterStartLeavesNoSocket(t *testing.T) {
	dir := openDir(t, t.TempDir())
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that Stop comes before the goroutines that accept
	var endpoints []server.Endpoint
	for i := range 23 {
		endpoints = append(endpoints, server.Endpoint{Name: fmt.Sprintf("endpoint-%d", i)})
	}
	for range 20 {
		s, err := server.Start(dir, endpoints, server.Options{Failed: func(err error) { t.Error(err) }})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, e := range endpoints {
			if _, err := os.Lstat(dir.Path(e.Name)); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("after Stop: %s: %v", e.Name, err)
			}
		}
	}
}
