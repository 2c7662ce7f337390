// SPDX-License-Identifier: Apache-2.0

//go:build unix

package server_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	api "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// Most endpoints never see a client, and what they cost is paid on every node all the time.
func TestAnEndpointWithoutClientsCostsItsListener(t *testing.T) {
	before := runtime.NumGoroutine()
	f := start(t, func(context.Context, string) (bool, error) { return true, nil })
	if idle := runtime.NumGoroutine() - before; idle > 5 { // it accepts, and the test's connection has some of its own
		t.Errorf("an endpoint without clients has %d goroutines", idle)
	}
	if _, err := f.client.PathExists(t.Context(), &api.PathExistsRequest{Path: "a"}); err != nil {
		t.Errorf("its first client: %v", err)
	}
}

func TestManyFirstClientsAtOnce(t *testing.T) {
	f := start(t, func(context.Context, string) (bool, error) { return true, nil })
	var clients sync.WaitGroup
	for range 20 {
		clients.Go(func() {
			if _, err := f.client.PathExists(t.Context(), &api.PathExistsRequest{Path: "a"}); err != nil {
				t.Error(err)
			}
		})
	}
	clients.Wait()
}

func TestStoppingWithoutClientsIsNoFailure(t *testing.T) {
	for range 20 { // now before, now after the endpoint waits for its first client
		f := start(t, func(context.Context, string) (bool, error) { return true, nil })
		if err := f.server.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		select {
		case err := <-f.failed:
			t.Errorf("the endpoint is said to have failed: %v", err)
		default:
		}
	}
}

// While a call keeps one endpoint from being stopped, nobody gets into another one that had no client yet.
func TestStoppingClosesTheEndpointsWithoutClientsFirst(t *testing.T) {
	running, release := make(chan struct{}), make(chan struct{})
	f := start(t, func(context.Context, string) (bool, error) {
		close(running)
		<-release
		return true, nil
	}, server.Endpoint{Name: "idle"})
	stopped := make(chan error, 1)
	go func() { _, _ = f.client.PathExists(t.Context(), &api.PathExistsRequest{Path: "a"}) }()
	<-running
	go func() { stopped <- f.server.Stop(t.Context()) }()
	limit, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for limit.Err() == nil {
		if _, err := os.Lstat(f.dir.Path("idle")); errors.Is(err, fs.ErrNotExist) {
			break
		}
		runtime.Gosched()
	}
	if limit.Err() != nil {
		t.Error("the endpoint without clients still accepts them")
	}
	close(release)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
