// SPDX-License-Identifier: Apache-2.0

//go:build unix

package server_test

import (
	"context"
	"os"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	api "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
)

// event is one call as a recorder saw it.
type event struct {
	Call     server.CallInfo
	Messages []proto.Message // the request, then the response
	Codes    []codes.Code    // one for each End
}

func (e *event) Request(message proto.Message) { e.Messages = append(e.Messages, message) }

func (e *event) End(response proto.Message, err error) {
	if response != nil {
		e.Messages = append(e.Messages, response)
	}
	e.Codes = append(e.Codes, status.Code(err))
}

// self returns this test as a client, as the system identifies it.
func self() transport.Peer {
	if runtime.GOOS != "linux" {
		return transport.Peer{}
	}
	uid := os.Getuid()
	return transport.Peer{PID: uint32(os.Getpid()), UID: &uid}
}

func TestRecord(t *testing.T) {
	var events []*event
	var handled []string
	dir := openDir(t, t.TempDir())
	s := serve(t, dir, server.Options{Recorders: []server.Recorder{func(c server.CallInfo) server.Record {
		e := &event{Call: c}
		events = append(events, e)
		return e
	}}}, func(ctx context.Context, path string) (bool, error) {
		outlives := context.WithoutCancel(ctx)
		handled = append(handled, server.RequestID(outlives))
		if path == "panic" {
			panic("hush")
		}
		return true, nil
	})
	client := api.NewFilesystemClient(dial(t, dir))
	var headers [][]string
	for _, path := range []string{"a", "panic"} {
		var header metadata.MD
		_, _ = client.PathExists(t.Context(), &api.PathExistsRequest{Path: path}, grpc.Header(&header))
		headers = append(headers, header.Get("x-request-id"))
	}
	if err := s.Stop(t.Context()); err != nil { // so that the last call has been recorded
		t.Fatal(err)
	}
	if len(handled) != 2 || handled[0] == handled[1] || handled[0] == "" {
		t.Fatalf("the handler had the ids %q", handled)
	}
	call := func(id string) server.CallInfo {
		return server.CallInfo{RequestID: id, Endpoint: endpointName, Method: "/v1.Filesystem/PathExists", Client: self()}
	}
	want := []*event{
		{call(handled[0]), []proto.Message{&api.PathExistsRequest{Path: "a"}, &api.PathExistsResponse{Exists: true}},
			[]codes.Code{codes.OK}},
		{call(handled[1]), []proto.Message{&api.PathExistsRequest{Path: "panic"}}, []codes.Code{codes.Internal}},
	}
	identity := cmpopts.IgnoreFields(transport.Peer{}, "Identity") // internal/agent/transport tests it
	if d := cmp.Diff(want, events, protocmp.Transform(), identity); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([][]string{nil, {handled[1]}}, headers); d != "" {
		t.Errorf("the ids that the callers got: %s", d)
	}
}

func TestNotRecorded(t *testing.T) {
	dir := openDir(t, t.TempDir())
	none := func(server.CallInfo) server.Record { return nil }
	serve(t, dir, server.Options{Recorders: []server.Recorder{none}}, found)
	client := api.NewFilesystemClient(dial(t, dir))
	if r, err := client.PathExists(t.Context(), &api.PathExistsRequest{}); err != nil || !r.GetExists() {
		t.Errorf("got %v, %v", r, err)
	}
}
