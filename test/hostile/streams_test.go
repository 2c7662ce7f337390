// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/limits"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
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

func newConn(socket string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///agent", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn,
			error) {
			return testnode.DialRaw(ctx, socket)
		}))
}

// probe asks for everything beside the API once, as a process of its own, and prints the results.
func probe(socket string) int {
	conn, err := newConn(socket)
	if err != nil {
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, b := range besides() {
		fmt.Println(b.name, codeOf(b.ask(ctx, conn)))
	}
	return 0
}

// probeFrom has another process ask.
func (g *target) probeFrom(socket string) {
	g.t.Helper()
	output, err := g.another(probeSocket, socket).Output()
	noError(g.t, err)
	want := ""
	for _, b := range besides() {
		want += b.name + " OK\n"
	}
	if got := string(output); got != want {
		g.t.Errorf("another process gets\n%swant\n%s", got, want)
	}
}

func (g *target) newConn(group, version string) *grpc.ClientConn {
	g.t.Helper()
	conn, err := newConn(g.Socket(group, version))
	noError(g.t, err)
	g.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// takeAll begins calls of a method without sending their requests, until they have all the places of this process: the
// health check that finds this out briefly has one itself, so one of them may be refused.
func (g *target) takeAll(p *peer, path string) {
	g.t.Helper()
	conn, stream := g.newConn("disk", "v1"), uint32(1)
	eventually(g.t, "headers alone take all places", func() bool {
		p.announce(stream, path)
		stream += 2
		return codeOf(besides()[3].ask(g.t.Context(), conn)) == codes.ResourceExhausted
	})
}

// The calls and streams that a process may have open are limited, over all its connections and sockets. One more is
// refused; other processes are served; and when a stream ends, in whatever way, there is room for another.
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
				reason(err) != "TOO_MANY_CALLS" {
				t.Errorf("%s: %s with all places taken: got %v, want ResourceExhausted, TOO_MANY_CALLS", what, b.name, err)
			}
		}
		return cancel
	}
	end := fill("at first")
	g.probeFrom(g.Socket("filesystem", "v2alpha1"))
	end()
	end = fill("after the streams ended")
	end()

	p := g.peer()
	closed := p.drain()
	for i := range 200 { // aborted, before or after the agent accepts them
		for j, path := range []string{
			healthpb.Health_Watch_FullMethodName, healthpb.Health_List_FullMethodName,
			reflectionv1.ServerReflection_ServerReflectionInfo_FullMethodName,
		} {
			stream := uint32(2*(3*i+j) + 1)
			p.announce(stream, path)
			noError(t, p.WriteRSTStream(stream, http2.ErrCodeCancel))
		}
	}
	end = fill("after streams were aborted")
	end()
	p = g.peer()
	g.takeAll(p, healthpb.Health_Watch_FullMethodName)
	_ = p.conn.Close()
	fill("after a connection was closed")()
	select {
	case code := <-closed:
		t.Errorf("the agent closed the connection of the aborted streams: %v", code)
	default:
	}
	conn := g.newConn("disk", "v1")
	eventually(t, "there is room for a call", func() bool { return besides()[3].ask(t.Context(), conn) == nil })
	g.alive()
}

// The headers of a health check without its request hold a place for at most as long as a call may take.
func TestIncompleteHealthCheck(t *testing.T) {
	for _, path := range []string{healthpb.Health_Check_FullMethodName, healthpb.Health_List_FullMethodName} {
		t.Run(path, func(t *testing.T) {
			g := attack(t, testnode.Options{CallTimeout: time.Second})
			p := g.peer()
			p.announce(1, path)
			if got, want := p.status(1), "4"; got != want {
				t.Errorf("got the status %s, want %s, DeadlineExceeded", got, want)
			}
			g.alive()

			g = attack(t, testnode.Options{Limits: limits.Limits{ClientCalls: 1}})
			p = g.peer()
			g.takeAll(p, path)
			_ = p.conn.Close()
			conn := g.newConn("disk", "v1")
			eventually(t, "the place is free again", func() bool { return besides()[3].ask(t.Context(), conn) == nil })
		})
	}
}

// A process without free places for calls of the API still gets answers about the agent's health and what it serves.
func TestHealthWhileCallsHang(t *testing.T) {
	t.Parallel()
	g := attack(t, testnode.Options{Limits: limits.Limits{Operations: 1, ClientOperations: 1, Wait: time.Second}})
	reached, release := g.Faults.HangAll("OpenDevice")
	defer release()
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	hung := make(chan error, 1)
	go func() {
		_, err := g.Disk.GetDiskStats(ctx, &disk.GetDiskStatsRequest{DiskNumber: 1})
		hung <- err
	}()
	await(t, reached, "the kernel call")
	g.probeFrom(g.Socket("disk", "v1"))
	for _, b := range besides() {
		if err := b.ask(ctx, g.newConn("disk", "v1")); err != nil {
			t.Errorf("%s of the process whose call hangs: %v", b.name, err)
		}
	}
	release()
	if err := <-hung; err != nil {
		t.Errorf("the call, when Windows answers: %v", err)
	}
}
