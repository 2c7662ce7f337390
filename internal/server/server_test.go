// SPDX-License-Identifier: Apache-2.0

//go:build unix

package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	api "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/node"
)

// exists is what a test's server does for PathExists.
type exists func(ctx context.Context, path string) (bool, error)

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
	dir    *server.SocketDir
	conn   *grpc.ClientConn
	client api.FilesystemClient
	log    *safeBuffer
	failed chan error
}

const endpointName = "csi-proxy-filesystem-v1"

func start(t *testing.T, do exists) *fixture {
	t.Helper()
	f := &fixture{dir: openDir(t, t.TempDir()), log: &safeBuffer{}, failed: make(chan error, 1)}
	endpoint := server.Endpoint{Name: endpointName, Group: "filesystem", Version: "v1", Services: []server.Service{{
		Name: "v1.Filesystem",
		Methods: []server.Method{server.Unary("PathExists", server.LimitRead, func(ctx context.Context, r *api.PathExistsRequest) (*api.PathExistsResponse, error) {
			found, err := do(ctx, r.GetPath())
			return &api.PathExistsResponse{Exists: found}, err
		})},
	}}}
	var err error
	f.server, err = server.Start(f.dir, []server.Endpoint{endpoint}, server.Options{
		Failed: func(err error) { f.failed <- err },
		Logger: textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(f.log), textlogger.Verbosity(2))),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.server.Stop(t.Context()) })
	f.conn, err = grpc.NewClient("unix:"+f.dir.Path(endpointName), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.conn.Close() })
	f.client = api.NewFilesystemClient(f.conn)
	return f
}

func info(t *testing.T, err error) *errdetails.ErrorInfo {
	t.Helper()
	for _, detail := range status.Convert(err).Details() {
		if i, ok := detail.(*errdetails.ErrorInfo); ok {
			return i
		}
	}
	t.Fatalf("no ErrorInfo in %v", err)
	return nil
}

func TestErrorsOnTheWire(t *testing.T) {
	call := &kernel.Error{Function: "CreateFileW", Object: `C:\x`, Code: win32.ERROR_ACCESS_DENIED}
	type answer struct {
		Code     codes.Code
		Message  string
		Domain   string
		Reason   string
		Metadata map[string]string
	}
	for _, test := range []struct {
		name string
		err  error
		want answer
	}{
		{
			name: "with a Win32 code",
			err:  &node.Error{Class: node.PermissionDenied, Reason: "DENIED", Message: "no", Err: fmt.Errorf("wrapped: %w", call)},
			want: answer{codes.PermissionDenied, "no", "csi-proxy", "DENIED", map[string]string{"win32": "5", "function": "CreateFileW"}},
		},
		{
			name: "without",
			err:  fmt.Errorf("outer: %w", &node.Error{Class: node.FailedPrecondition, Reason: "BUSY", Message: "inner"}),
			want: answer{codes.FailedPrecondition, "outer: inner", "csi-proxy", "BUSY", nil},
		},
		{name: "a kernel error that nobody classified", err: call,
			want: answer{codes.Internal, call.Error(), "csi-proxy", "INTERNAL", map[string]string{"win32": "5", "function": "CreateFileW"}}},
		{name: "a deadline", err: context.DeadlineExceeded, want: answer{codes.DeadlineExceeded, "context deadline exceeded", "csi-proxy", "DEADLINE_EXCEEDED", nil}},
		{name: "bytes that are no text", err: errors.New("a\xffb"), want: answer{codes.Internal, "a\uFFFDb", "csi-proxy", "INTERNAL", nil}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := start(t, func(context.Context, string) (bool, error) { return true, test.err })
			_, err := f.client.PathExists(t.Context(), &api.PathExistsRequest{})
			i := info(t, err)
			got := answer{status.Code(err), status.Convert(err).Message(), i.GetDomain(), i.GetReason(), i.GetMetadata()}
			if diff := cmp.Diff(got, test.want); diff != "" {
				t.Errorf("answer differs (-got +want):\n%s", diff)
			}
		})
	}
}

func TestEveryClassHasItsCode(t *testing.T) {
	for class, want := range map[node.Class]codes.Code{
		node.Internal: codes.Internal, node.InvalidArgument: codes.InvalidArgument, node.NotFound: codes.NotFound,
		node.AlreadyExists: codes.AlreadyExists, node.PermissionDenied: codes.PermissionDenied, node.Unauthenticated: codes.Unauthenticated,
		node.FailedPrecondition: codes.FailedPrecondition, node.OutOfRange: codes.OutOfRange, node.ResourceExhausted: codes.ResourceExhausted,
		node.Unavailable: codes.Unavailable, node.Unsupported: codes.Unimplemented, node.DeadlineExceeded: codes.DeadlineExceeded,
		node.DataLoss: codes.DataLoss, node.Canceled: codes.Canceled,
	} {
		f := start(t, func(context.Context, string) (bool, error) { return false, &node.Error{Class: class, Message: "x"} })
		if _, err := f.client.PathExists(t.Context(), &api.PathExistsRequest{}); status.Code(err) != want {
			t.Errorf("class %d: got %v, want %v", class, status.Code(err), want)
		}
	}
}

func TestPanicEndsOneCall(t *testing.T) {
	f := start(t, func(_ context.Context, path string) (bool, error) {
		if path == "secret" {
			panic("a text with the secret in it")
		}
		return true, nil
	})
	_, err := f.client.PathExists(t.Context(), &api.PathExistsRequest{Path: "secret"})
	if status.Code(err) != codes.Internal || info(t, err).GetReason() != "PANIC" {
		t.Errorf("got %v, want Internal with the reason PANIC", err)
	}
	if r, err := f.client.PathExists(t.Context(), &api.PathExistsRequest{}); err != nil || !r.GetExists() {
		t.Errorf("the next call: got %v, %v", r, err)
	}
	log := f.log.String()
	if !strings.Contains(log, "TestPanicEndsOneCall") {
		t.Errorf("the log does not say where the panic was:\n%s", log)
	}
	if strings.Contains(log, "secret") {
		t.Errorf("the log has the caller's argument:\n%s", log)
	}
}

func TestRequestIDLeadsToTheLog(t *testing.T) {
	f := start(t, func(ctx context.Context, path string) (bool, error) {
		klog.FromContext(ctx).Info("inside")
		if path == "" {
			return false, nil
		}
		return false, &node.Error{Class: node.NotFound, Reason: "X", Message: "no such thing"}
	})
	ids := map[string]bool{}
	for _, path := range []string{"", "fails"} {
		var header metadata.MD
		forged := metadata.AppendToOutgoingContext(t.Context(), "x-request-id", "forged")
		_, _ = f.client.PathExists(forged, &api.PathExistsRequest{Path: path}, grpc.Header(&header))
		id := strings.Join(header.Get("x-request-id"), ",")
		if !regexp.MustCompile("^[0-9a-f]{16}$").MatchString(id) || ids[id] {
			t.Fatalf("got the request id %q", id)
		}
		ids[id] = true
	}
	failures := 0
	for line := range strings.Lines(f.log.String()) {
		known := false
		for id := range ids {
			known = known || strings.Contains(line, id)
		}
		if !known {
			t.Errorf("a line without request id: %s", line)
		}
		if strings.Contains(line, "call failed") {
			failures++
			for _, part := range []string{`method="/v1.Filesystem/PathExists"`, `endpoint="csi-proxy-filesystem-v1"`, "duration=", `code="NotFound"`, `err="no such thing"`} {
				if !strings.Contains(line, part) {
					t.Errorf("no %s in the line of the failed call: %s", part, line)
				}
			}
		}
	}
	if failures != 1 {
		t.Errorf("got %d lines of the failed call, want 1", failures)
	}
}

func TestDeadlines(t *testing.T) {
	seen := make(chan time.Duration, 1)
	f := start(t, func(ctx context.Context, _ string) (bool, error) {
		deadline, ok := ctx.Deadline()
		if !ok {
			return false, errors.New("no deadline")
		}
		seen <- time.Until(deadline)
		return true, nil
	})
	for _, test := range []struct {
		name   string
		caller time.Duration // 0: none
		most   time.Duration
	}{
		{name: "the method's own", most: server.LimitRead},
		{name: "the caller's shorter one", caller: server.LimitRead / 2, most: server.LimitRead / 2},
		{name: "not the caller's longer one", caller: server.LimitRead * 4, most: server.LimitRead},
	} {
		ctx, cancel := t.Context(), func() {}
		if test.caller > 0 {
			ctx, cancel = context.WithTimeout(ctx, test.caller)
		}
		if _, err := f.client.PathExists(ctx, &api.PathExistsRequest{}); err != nil {
			t.Fatal(err)
		}
		cancel()
		if left := <-seen; left > test.most {
			t.Errorf("%s: got a deadline %v away, want at most %v", test.name, left, test.most)
		}
	}
}

func TestSizeLimits(t *testing.T) {
	f := start(t, func(_ context.Context, path string) (bool, error) {
		return false, &node.Error{Class: node.InvalidArgument, Reason: "LONG", Message: fmt.Sprint(len(path), path)}
	})
	_, err := f.client.PathExists(t.Context(), &api.PathExistsRequest{Path: strings.Repeat("x", 1<<20)})
	if status.Code(err) != codes.InvalidArgument || info(t, err).GetReason() != "LONG" {
		t.Errorf("1 MiB: got %v", status.Code(err))
	}
	_, err = f.client.PathExists(t.Context(), &api.PathExistsRequest{Path: strings.Repeat("x", 5<<20)})
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("5 MiB: got %v", status.Code(err))
	}
}

// raw is a codec for bytes that are no message.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error)      { return v.([]byte), nil }
func (raw) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }
func (raw) Name() string                       { return "proto" }

func TestMalformedRequest(t *testing.T) {
	f := start(t, func(context.Context, string) (bool, error) { return true, nil })
	var answer []byte
	err := f.conn.Invoke(t.Context(), "/v1.Filesystem/PathExists", []byte("\x0a\x02\xff\xfe"), &answer, grpc.ForceCodec(raw{}))
	if status.Code(err) != codes.Internal { // which is gRPC's own answer
		t.Errorf("got %v, want Internal", err)
	}
	if err := f.server.Stop(t.Context()); err != nil { // gRPC answers before the handler is done
		t.Fatal(err)
	}
	if !strings.Contains(f.log.String(), "call failed") {
		t.Error("the failure is not in the log")
	}
}

func TestOtherVersionsMethod(t *testing.T) {
	f := start(t, func(context.Context, string) (bool, error) { return true, nil })
	err := f.conn.Invoke(t.Context(), "/v2alpha1.Filesystem/PathExists", &api.PathExistsRequest{}, &api.PathExistsResponse{})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("got %v, want Unimplemented", err)
	}
}

func TestHealth(t *testing.T) {
	f := start(t, func(context.Context, string) (bool, error) { return true, nil })
	client := healthpb.NewHealthClient(f.conn)
	for _, service := range []string{"", "v1.Filesystem"} {
		r, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
		if err != nil || r.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("%q: got %v, %v", service, r, err)
		}
	}
	watch, err := client.Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for {
		r, err := watch.Recv()
		if err != nil {
			break
		}
		seen = append(seen, r.GetStatus().String())
		if len(seen) == 1 {
			// A watch must not keep the server from stopping.
			if err := f.server.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if seen[0] != "SERVING" || (len(seen) > 1 && seen[1] != "NOT_SERVING") {
		t.Errorf("got the states %v", seen)
	}
}

func TestReflection(t *testing.T) {
	f := start(t, func(context.Context, string) (bool, error) { return true, nil })
	stream, err := reflectionpb.NewServerReflectionClient(f.conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(r *reflectionpb.ServerReflectionRequest) *reflectionpb.ServerReflectionResponse {
		t.Helper()
		if err := stream.Send(r); err != nil {
			t.Fatal(err)
		}
		answer, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	var services []string
	for _, s := range ask(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}).GetListServicesResponse().GetService() {
		services = append(services, s.GetName())
	}
	want := []string{"grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection", "v1.Filesystem"}
	if diff := cmp.Diff(services, want); diff != "" {
		t.Errorf("services differ (-got +want):\n%s", diff)
	}
	symbol := &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "v1.Filesystem"}
	if files := ask(&reflectionpb.ServerReflectionRequest{MessageRequest: symbol}).GetFileDescriptorResponse().GetFileDescriptorProto(); len(files) == 0 {
		t.Error("no descriptor of v1.Filesystem")
	}
	// The open stream must not keep the server from stopping.
	if err := f.server.Stop(t.Context()); err != nil {
		t.Error(err)
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
	stopped := make(chan error, 1)
	go func() { stopped <- f.server.Stop(t.Context()) }()
	if _, err := silent.Read(make([]byte, 1<<10)); err != nil {
		t.Fatalf("the server's first bytes: %v", err) // its SETTINGS frame
	}
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
	if _, err := stuck.Write([]byte("PRI *")); err != nil { // the begin of a preface, and no more
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

// dying is a transport whose listeners the test can break.
type dying struct {
	*server.SocketDir
	opened []net.Listener
}

func (d *dying) Listen(name string) (net.Listener, error) {
	l, err := d.SocketDir.Listen(name)
	d.opened = append(d.opened, l)
	return l, err
}

func TestDeadListenerIsReported(t *testing.T) {
	transport := &dying{SocketDir: openDir(t, t.TempDir())}
	failed := make(chan error, 1)
	s, err := server.Start(transport, []server.Endpoint{{Name: "a"}, {Name: "b"}}, server.Options{Failed: func(err error) { failed <- err }})
	if err != nil {
		t.Fatal(err)
	}
	if err := transport.opened[1].Close(); err != nil {
		t.Fatal(err)
	}
	mustSay(t, <-failed, transport.Path("b"), "stopped accepting")
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStartOpensAllOrNone(t *testing.T) {
	transport := openDir(t, t.TempDir())
	live, err := net.Listen("unix", transport.Path("b"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = live.Close() }()
	_, err = server.Start(transport, []server.Endpoint{{Name: "a"}, {Name: "b"}}, server.Options{})
	mustSay(t, err, transport.Path("b"))
	if c, err := net.Dial("unix", transport.Path("a")); err == nil {
		_ = c.Close()
		t.Error("the first endpoint is still open")
	}
}
