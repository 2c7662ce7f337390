// SPDX-License-Identifier: Apache-2.0

//go:build unix

package server_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"testing"
	"time"

	api "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

// While a call keeps one endpoint from stopping, the others accept no clients.
func TestStoppingClosesAllEndpointsFirst(t *testing.T) {
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
	limit, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for limit.Err() == nil {
		if _, err := os.Lstat(f.dir.Path("idle")); errors.Is(err, fs.ErrNotExist) {
			break
		}
		runtime.Gosched()
	}
	if limit.Err() != nil {
		t.Error("the other endpoint still accepts clients")
	}
	close(release)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
