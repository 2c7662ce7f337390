// SPDX-License-Identifier: Apache-2.0

//go:build unix

package server_test

import (
	"context"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/known/emptypb"

	api "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

// Calls are counted when they begin and when they end. Nothing that a caller invents becomes a label.
func TestCallsAreCounted(t *testing.T) {
	registry, dir := prometheus.NewRegistry(), openDir(t, t.TempDir())
	arrived, proceed := make(chan struct{}), make(chan struct{})
	o := server.Options{Metrics: server.NewMetrics(registry)}
	s := serve(t, dir, o, func(_ context.Context, path string) (bool, error) {
		switch path {
		case "":
			return false, &errdefs.Error{Class: errdefs.InvalidArgument, Message: "empty"}
		case "panic":
			panic("as asked")
		case "wait":
			close(arrived)
			<-proceed
		}
		return false, nil
	})
	conn := dial(t, dir)
	call := func(path string) {
		_, _ = api.NewFilesystemClient(conn).PathExists(t.Context(), &api.PathExistsRequest{Path: path})
	}
	for _, path := range []string{"", "a", "b", "panic"} {
		call(path)
	}
	for _, method := range []string{"/v1.Filesystem/MadeUp", "/made.up.Service/PathExists",
		"/v1.Filesystem/PathExists/more"} {
		_ = conn.Invoke(t.Context(), method, &emptypb.Empty{}, &emptypb.Empty{})
	}
	if _, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Error(err)
	}
	waiting := make(chan struct{})
	go func() { call("wait"); close(waiting) }()
	<-arrived

	expect := func(ok string) {
		t.Helper()
		const method = `grpc_method="PathExists",grpc_service="v1.Filesystem",grpc_type="unary"`
		want := `
# HELP grpc_server_handled_total Total number of RPCs completed on the server, regardless of success or failure.
# TYPE grpc_server_handled_total counter
grpc_server_handled_total{grpc_code="Internal",` + method + `} 1
grpc_server_handled_total{grpc_code="InvalidArgument",` + method + `} 1
grpc_server_handled_total{grpc_code="OK",grpc_method="Check",grpc_service="grpc.health.v1.Health",grpc_type="unary"} 1
grpc_server_handled_total{grpc_code="OK",` + method + `} ` + ok + `
# HELP grpc_server_started_total Total number of RPCs started on the server.
# TYPE grpc_server_started_total counter
grpc_server_started_total{grpc_method="Check",grpc_service="grpc.health.v1.Health",grpc_type="unary"} 1
grpc_server_started_total{` + method + `} 5
`
		if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "grpc_server_started_total",
			"grpc_server_handled_total"); err != nil {
			t.Error(err)
		}
	}
	expect("2")
	close(proceed)
	<-waiting
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect("3")
	if n, err := testutil.GatherAndCount(registry, "grpc_server_handling_seconds"); n != 2 || err != nil {
		t.Errorf("there are durations of %d methods, want 2 (%v)", n, err)
	}
}
