// SPDX-License-Identifier: Apache-2.0

//go:build unix

package server_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	api "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
	"github.com/kubernetes-csi/csi-proxy/node"
)

func TestObserve(t *testing.T) {
	registry := prometheus.NewRegistry()
	dir := openDir(t, t.TempDir())
	s, err := server.Start(dir, []server.Endpoint{{Name: "fs", Group: "filesystem", Version: "v1", Services: []server.Service{{
		Name: "v1.Filesystem",
		Methods: []server.Method{server.Unary("PathExists", server.LimitRead, func(_ context.Context, r *api.PathExistsRequest) (*api.PathExistsResponse, error) {
			if r.GetPath() == "" {
				return nil, &node.Error{Class: node.InvalidArgument, Message: "empty"}
			}
			return &api.PathExistsResponse{}, nil
		})},
	}}}}, server.Options{Metrics: server.NewMetrics(registry)})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient("unix:"+dir.Path("fs"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for _, path := range []string{"", "a", "b"} {
		_, _ = api.NewFilesystemClient(conn).PathExists(t.Context(), &api.PathExistsRequest{Path: path})
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var ready atomic.Bool
	stop := server.Observe(l, registry, ready.Load)
	defer func() { _ = stop(t.Context()) }()
	get := func(path string) (int, string) {
		t.Helper()
		r, err := http.Get("http://" + l.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(text)
	}
	if code, text := get("/healthz"); code != http.StatusOK || text != "ok\n" {
		t.Errorf("healthz: got %d %q", code, text)
	}
	if code, _ := get("/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("readyz before: got %d", code)
	}
	ready.Store(true)
	if code, _ := get("/readyz"); code != http.StatusOK {
		t.Errorf("readyz after: got %d", code)
	}
	_, text := get("/metrics")
	for _, line := range []string{
		`csi_proxy_calls_total{code="InvalidArgument",group="filesystem",method="PathExists",version="v1"} 1`,
		`csi_proxy_calls_total{code="OK",group="filesystem",method="PathExists",version="v1"} 2`,
		`csi_proxy_call_duration_seconds_count{group="filesystem",method="PathExists",version="v1"} 3`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
}
