// SPDX-License-Identifier: Apache-2.0

//go:build unix

package server_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	api "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
)

const endpointName = "csi-proxy-filesystem-v1"

// exists is the handler of PathExists in a test.
type exists func(ctx context.Context, path string) (bool, error)

// found answers that every path exists.
func found(context.Context, string) (bool, error) { return true, nil }

// serve serves PathExists at an endpoint of its own, and more endpoints, until the test ends.
func serve(t *testing.T, at transport.Endpoints, o server.Options, do exists, more ...server.Endpoint) *server.Server {
	t.Helper()
	endpoint := server.Endpoint{Name: endpointName, Group: "filesystem", Version: "v1", Services: []server.Service{{
		Name: "v1.Filesystem",
		Methods: []server.Method{server.Unary("PathExists", node.LimitRead,
			func(ctx context.Context, r *api.PathExistsRequest) (*api.PathExistsResponse, error) {
				found, err := do(ctx, r.GetPath())
				return &api.PathExistsResponse{Exists: found}, err
			})},
	}}}
	s, err := server.Start(at, append([]server.Endpoint{endpoint}, more...), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(t.Context()) })
	return s
}

// dial returns a connection to serve's endpoint.
func dial(t *testing.T, at transport.Endpoints) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("unix:"+at.Path(endpointName), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func openDir(t *testing.T, path string) *transport.SocketDir {
	t.Helper()
	d, err := transport.OpenSocketDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// mustSay checks that an error's text has all of the parts.
func mustSay(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want one that says %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("got the error %q, want %q in it", err, part)
		}
	}
}
