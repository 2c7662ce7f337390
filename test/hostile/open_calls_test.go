// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/net/http2"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/limits"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// check asks the agent for its health, over a connection of its own.
func (g *target) check(group, version string) error {
	g.t.Helper()
	conn, err := newConn(g.Socket(group, version))
	g.OK(err)
	defer func() { _ = conn.Close() }()
	_, err = healthpb.NewHealthClient(conn).Check(g.t.Context(), &healthpb.HealthCheckRequest{})
	return err
}

// The calls that a process may have open are limited, over all its connections and sockets, and from their headers on.
// One more is refused, and when one ends, in whatever way, there is room for another.
func TestOpenCallsOfOneProcess(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		t.Skip("the agent cannot tell processes apart here")
	}
	const most = 6
	g := attack(t, testnode.Options{Limits: limits.Limits{ClientCalls: most}})
	refused := func(group string) bool { return caller.Reason(g.check(group, "v1")) == "TOO_MANY_CALLS" }
	fill := func(what string, peers ...*peer) {
		t.Helper()
		// One at a time: a check briefly has a place itself, and so has a call that was aborted before.
		for stream := uint32(1); !refused("volume") || !refused("disk"); stream += 2 {
			if stream > 40*most {
				t.Fatalf("%s: %d open calls do not take all places", what, len(peers)*int(stream))
			}
			for _, p := range peers {
				p.announce(stream, healthpb.Health_List_FullMethodName)
			}
		}
	}
	first, second := g.peer(), g.peer()
	fill("headers alone", first, second)
	_ = first.conn.Close()
	_ = second.conn.Close()
	eventually(t, "the connections were closed, and there is room", func() bool { return g.check("disk", "v1") == nil })
	p := g.peer()
	closed := p.drain()
	for i := range uint32(200) { // aborted, before or after the agent accepts them
		p.announce(2*i+1, healthpb.Health_List_FullMethodName)
		g.OK(p.WriteRSTStream(2*i+1, http2.ErrCodeCancel))
	}
	eventually(t, "the calls were aborted, and there is room", func() bool { return g.check("disk", "v1") == nil })
	fill("after calls were aborted", g.peer())
	select {
	case code := <-closed:
		t.Errorf("the agent closed the connection of the aborted calls: %v", code)
	default:
	}
}

// A process without free slots for calls of the API still gets answers about the agent's health.
func TestHealthWhileCallsHang(t *testing.T) {
	t.Parallel()
	g := attack(t, testnode.Options{Limits: limits.Limits{Operations: 1, ClientOperations: 1, Wait: time.Second}})
	reached, release := g.Faults.HangAll("OpenDevice")
	defer release()
	hung := make(chan error, 1)
	go func() { hung <- only(g.GetDiskStats(1)) }()
	<-reached
	if err := g.check("disk", "v1"); err != nil {
		t.Errorf("a check of the process whose call hangs: %v", err)
	}
	release()
	if err := <-hung; err != nil {
		t.Errorf("the call, when Windows answers: %v", err)
	}
}
