// SPDX-License-Identifier: Apache-2.0

//go:build unix

package server_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	api "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

func TestRecord(t *testing.T) {
	type event struct {
		Call    server.RecordedCall
		Request *api.PathExistsRequest
		Code    codes.Code
	}
	var events []event
	options := server.Options{Record: func(c server.RecordedCall) (func(any), func(error)) {
		e := event{Call: c}
		return func(m any) { e.Request = m.(*api.PathExistsRequest) }, func(err error) {
			e.Code = status.Code(err)
			events = append(events, e)
		}
	}}
	var handled []string
	handle := func(ctx context.Context, r *api.PathExistsRequest) (*api.PathExistsResponse, error) {
		handled = append(handled, server.RequestID(ctx))
		if r.GetPath() == "panic" {
			panic("hush")
		}
		return &api.PathExistsResponse{Exists: true}, nil
	}
	dir := openDir(t, t.TempDir())
	srv, err := server.Start(dir, []server.Endpoint{{Name: endpointName, Services: []server.Service{{
		Name: "v1.Filesystem", Methods: []server.Method{server.Unary("PathExists", server.LimitRead, handle)},
	}}}}, options)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient("unix:"+dir.Path(endpointName), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()

	want := []event{}
	for _, c := range []struct {
		request *api.PathExistsRequest
		code    codes.Code
	}{{&api.PathExistsRequest{Path: "a"}, codes.OK}, {&api.PathExistsRequest{Path: "panic"}, codes.Internal}} {
		var header metadata.MD
		_, err := api.NewFilesystemClient(conn).PathExists(t.Context(), c.request, grpc.Header(&header))
		if status.Code(err) != c.code {
			t.Fatalf("got %v", err)
		}
		id := header.Get("x-request-id")[0]
		want = append(want, event{
			Call:    server.RecordedCall{RequestID: id, Endpoint: endpointName, Method: "/v1.Filesystem/PathExists"},
			Request: c.request, Code: c.code,
		})
		if got := handled[len(handled)-1]; got != id {
			t.Errorf("the handler had the id %q, the caller %q", got, id)
		}
	}
	if err := srv.Stop(t.Context()); err != nil { // so that the last call has been told of
		t.Fatal(err)
	}
	if d := cmp.Diff(want, events, protocmp.Transform()); d != "" {
		t.Error(d)
	}
}
