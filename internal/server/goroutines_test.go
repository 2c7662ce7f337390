// SPDX-License-Identifier: Apache-2.0

//go:build unix

package server_test

import (
	"context"
	"runtime/metrics"
	"syscall"
	"testing"

	api "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// goroutinesOfACall is how many goroutines a call over a new connection makes, all of them gRPC's. Under an attack each waits for
// a processor behind hundreds of others, and has them wait.
const goroutinesOfACall = 5

func TestGoroutinesOfACall(t *testing.T) {
	dir := openDir(t, t.TempDir())
	s, err := server.Start(dir, []server.Endpoint{{Name: endpointName, Services: []server.Service{{Name: "v1.Filesystem", Methods: []server.Method{
		server.Unary("PathExists", server.LimitRead, func(context.Context, *api.PathExistsRequest) (*api.PathExistsResponse, error) {
			return &api.PathExistsResponse{Exists: true}, nil
		}),
	}}}}}, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	const calls = 100
	before := goroutinesMade()
	for range calls {
		_ = syscall.Close(callOnce(t, dir.Path(endpointName)))
	}
	if each := (goroutinesMade() - before + calls/2) / calls; each != goroutinesOfACall { // others of the program make a few, too
		t.Errorf("a call makes %d goroutines, want %d", each, goroutinesOfACall)
	}
}

func goroutinesMade() int {
	s := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(s)
	return int(s[0].Value.Uint64())
}
