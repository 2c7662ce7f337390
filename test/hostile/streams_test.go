// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/limits"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// beside is a way to ask for something beside the API. It returns when the agent has answered for the first time; what
// it opened stays open until the context ends.
type beside struct {
	name string
	ask  func(ctx context.Context, conn grpc.ClientConnInterface) error
}

func besides() []beside {
	return []beside{
		{"Watch", func(ctx context.Context, conn grpc.ClientConnInterface) error {
			s, err := healthpb.NewHealthClient(conn).Watch(ctx, &healthpb.HealthCheckRequest{})
			if err == nil {
				_, err = s.Recv()
			}
			return err
		}},
		{"reflection v1", func(ctx context.Context, conn grpc.ClientConnInterface) error {
			s, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
			if err != nil {
				return err
			}
			// Recv has the cause
			_ = s.Send(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}})
			_, err = s.Recv()
			return err
		}},
		{"reflection v1alpha", func(ctx context.Context, conn grpc.ClientConnInterface) error {
			s, err := reflectionv1alpha.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
			if err != nil {
				return err
			}
			_ = s.Send(&reflectionv1alpha.ServerReflectionRequest{MessageRequest: &reflectionv1alpha.ServerReflectionRequest_ListServices{}}) //nolint:staticcheck // SA1019: older tools ask this way
			_, err = s.Recv()
			return err
		}},
		{"Check", func(ctx context.Context, conn grpc.ClientConnInterface) error {
			_, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
			return err
		}},
		{"List", func(ctx context.Context, conn grpc.ClientConnInterface) error {
			_, err := healthpb.NewHealthClient(conn).List(ctx, &healthpb.HealthListRequest{})
			return err
		}},
	}
}

func (g *target) newConn(group, version string) *grpc.ClientConn {
	g.t.Helper()
	conn, err := newConn(g.Socket(group, version))
	g.OK(err)
	g.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// The calls and streams that a process may have open are limited, over all its connections and sockets. One more is
// refused, and when a stream ends, in whatever way, there is room for another.
func TestStreamsOfOneProcess(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		t.Skip("the agent cannot tell processes apart here")
	}
	const most = 6
	g := attack(t, testnode.Options{Limits: limits.Limits{ClientCalls: most}})
	endpoints := [][2]string{{"filesystem", "v2alpha1"}, {"filesystem", "v2alpha1"}, {"disk", "v1"}}
	streams := besides()[:3]
	fill := func(what string) (end func()) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		for i := range most {
			e := endpoints[i%len(endpoints)]
			conn, b := g.newConn(e[0], e[1]), streams[i/2]
			eventually(t, fmt.Sprintf("%s: stream %d of %d is served", what, i+1, most),
				func() bool { return b.ask(ctx, conn) == nil })
		}
		for _, b := range besides() {
			if err := b.ask(ctx, g.newConn("volume", "v1")); codeOf(err) != codes.ResourceExhausted ||
				caller.Reason(err) != "TOO_MANY_CALLS" {
				t.Errorf("%s: %s with all places taken: got %v, want ResourceExhausted, TOO_MANY_CALLS", what, b.name, err)
			}
		}
		return cancel
	}
	fill("at first")()
	fill("after the streams ended")()
	p := g.peer()
	closed := p.drain()
	for i := range 200 { // aborted, before or after the agent accepts them
		for j, path := range []string{
			healthpb.Health_Watch_FullMethodName, healthpb.Health_List_FullMethodName,
			reflectionv1.ServerReflection_ServerReflectionInfo_FullMethodName,
		} {
			stream := uint32(2*(3*i+j) + 1)
			p.announce(stream, path)
			g.OK(p.WriteRSTStream(stream, http2.ErrCodeCancel))
		}
	}
	fill("after streams were aborted")()

	p = g.peer()
	conn, stream := g.newConn("disk", "v1"), uint32(1)
	check := func() error { return besides()[3].ask(t.Context(), conn) }
	eventually(t, "headers alone take all places", func() bool { // one at a time: the check briefly has one itself
		p.announce(stream, healthpb.Health_Watch_FullMethodName)
		stream += 2
		return codeOf(check()) == codes.ResourceExhausted
	})
	_ = p.conn.Close()
	fill("after a connection was closed")()
	select {
	case code := <-closed:
		t.Errorf("the agent closed the connection of the aborted streams: %v", code)
	default:
	}
	eventually(t, "there is room for a call", func() bool { return check() == nil })
	g.alive()
}

// A process without free slots for calls of the API still gets answers about the agent's health and what it serves.
func TestHealthWhileCallsHang(t *testing.T) {
	t.Parallel()
	g := attack(t, testnode.Options{Limits: limits.Limits{Operations: 1, ClientOperations: 1, Wait: time.Second}})
	reached, release := g.Faults.HangAll("OpenDevice")
	defer release()
	hung := make(chan error, 1)
	go func() { hung <- only(g.GetDiskStats(1)) }()
	<-reached
	for _, b := range besides() {
		if err := b.ask(t.Context(), g.newConn("disk", "v1")); err != nil {
			t.Errorf("%s of the process whose call hangs: %v", b.name, err)
		}
	}
	release()
	if err := <-hung; err != nil {
		t.Errorf("the call, when Windows answers: %v", err)
	}
}
