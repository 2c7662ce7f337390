// SPDX-License-Identifier: Apache-2.0

//go:build unix

package server_test

import (
	"context"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/known/emptypb"

	api "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// Calls are counted when they end and, while they run, as in flight. Nothing that a caller invents becomes a label.
func TestCallsAreCounted(t *testing.T) {
	metrics, dir := server.NewMetrics(), openDir(t, t.TempDir())
	arrived, proceed := make(chan struct{}), make(chan struct{})
	s, err := server.Start(dir, []server.Endpoint{{Name: "fs", Group: "filesystem", Version: "v1",
		Services: []server.Service{{
			Name: "v1.Filesystem",
			Methods: []server.Method{server.Unary("PathExists", server.LimitRead,
				func(_ context.Context, r *api.PathExistsRequest) (*api.PathExistsResponse, error) {
					switch r.GetPath() {
					case "":
						return nil, &node.Error{Class: node.InvalidArgument, Message: "empty"}
					case "panic":
						panic("as asked")
					case "wait":
						close(arrived)
						<-proceed
					}
					return &api.PathExistsResponse{}, nil
				})},
		}}}}, server.Options{Metrics: metrics})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient("unix:"+dir.Path("fs"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
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

	expect := func(inFlight, ok string) {
		t.Helper()
		want := `
# HELP csi_proxy_calls_in_flight API calls that have not been answered.
# TYPE csi_proxy_calls_in_flight gauge
csi_proxy_calls_in_flight{group="filesystem",method="PathExists",version="v1"} ` + inFlight + `
# HELP csi_proxy_calls_total API calls that ended, by API group, version, method and gRPC code.
# TYPE csi_proxy_calls_total counter
csi_proxy_calls_total{code="Internal",group="filesystem",method="PathExists",version="v1"} 1
csi_proxy_calls_total{code="InvalidArgument",group="filesystem",method="PathExists",version="v1"} 1
csi_proxy_calls_total{code="OK",group="filesystem",method="PathExists",version="v1"} ` + ok + `
`
		if err := testutil.CollectAndCompare(metrics, strings.NewReader(want), "csi_proxy_calls_in_flight",
			"csi_proxy_calls_total"); err != nil {
			t.Error(err)
		}
	}
	expect("1", "2")
	close(proceed)
	<-waiting
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect("0", "3")
	if n := testutil.CollectAndCount(metrics, "csi_proxy_call_duration_seconds"); n != 1 {
		t.Errorf("there are durations of %d methods, want 1", n)
	}
}
