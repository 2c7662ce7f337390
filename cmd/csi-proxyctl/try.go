// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	proxyclient "github.com/kubernetes-csi/csi-proxy/client"
	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
	"github.com/kubernetes-csi/csi-proxy/internal/doctor"
	"github.com/kubernetes-csi/csi-proxy/internal/transport"
)

// answerTime is the time in which an endpoint must answer a question that costs an agent nothing.
const answerTime = 3 * time.Second

// tryEndpoints tries all endpoints that an agent may serve, in parallel. The results are in the order of groups and
// versions.
func (a *connection) tryEndpoints(ctx context.Context) []doctor.Endpoint {
	var all []doctor.Endpoint
	for _, group := range versions.Groups() {
		names := append(group.Versions(), group.Hub)
		for _, version := range names {
			all = append(all, doctor.Endpoint{Group: group.Name, Version: version})
		}
	}
	var tries sync.WaitGroup
	for i := range all {
		tries.Go(func() { a.try(ctx, &all[i]) })
	}
	tries.Wait()
	return all
}

// try fills in the result of opening an endpoint and asking for its health. An agent without a health service counts as
// answering too.
func (a *connection) try(ctx context.Context, e *doctor.Endpoint) {
	version, err := apiversion.NewVersion(e.Version)
	if err != nil {
		e.State, e.Detail = doctor.Broken, err.Error()
		return
	}
	pipe := proxyclient.PipePath(e.Group, version)
	e.Address = a.address(e.Group, e.Version)
	connection, err := dial.Open(ctx, pipe, dial.Options{SocketDir: a.socketDir})
	if err != nil {
		e.State, e.Detail = failed(err)
		return
	}
	defer func() { _ = connection.Close() }()
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	_, err = grpc_health_v1.NewHealthClient(connection).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	switch status.Code(err) {
	case codes.DeadlineExceeded:
		e.State, e.Detail = doctor.Silent, "no answer within "+answerTime.String()
	case codes.Unavailable:
		e.State, e.Detail = doctor.Broken, status.Convert(err).Message()
	default:
		e.State = doctor.Answers
		if server, err := transport.ServerOf(ctx, e.Address); err == nil && server.Known() {
			e.Server = server.String()
		}
	}
}

// address returns the pipe or socket of a version.
func (a *connection) address(group, version string) string {
	name := "csi-proxy-" + group + "-" + version
	if runtime.GOOS == "windows" {
		return `\\.\pipe\` + name
	}
	return filepath.Join(cmp.Or(a.socketDir, os.Getenv(dial.SocketDirVariable)), name+".sock")
}

// failed returns the state and detail of an endpoint that could not be opened.
func failed(err error) (doctor.State, string) {
	cause := err
	if at := (*dial.Error)(nil); errors.As(err, &at) {
		cause = at.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return doctor.Absent, cause.Error()
	case errors.Is(err, syscall.ECONNREFUSED):
		return doctor.Abandoned, ""
	case errors.Is(err, fs.ErrPermission):
		return doctor.Denied, cause.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return doctor.Silent, cause.Error()
	default:
		return doctor.Broken, cause.Error()
	}
}
