// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
)

// A connection holds the flags that all commands have, and what the commands share.
type connection struct {
	socketDir string
	timeout   time.Duration
	output    output
	noHeaders bool // of lists
	watch     bool // of lists

	client  func() *csiproxy.Client       // the storage API
	takes   map[*cobra.Command][]argument // the arguments that each command takes
	callers map[string]*cobra.Command     // by method of the storage API
	running *cobra.Command                // nil while the command line is parsed

	mu   sync.Mutex
	gaps []string // what Windows did not answer to the calls of the storage API
}

// calledBy registers the command that calls a method of the storage API. The first one of a method counts.
func (a *connection) calledBy(c *cobra.Command, method string) {
	if a.callers[method] == nil {
		a.callers[method] = c
	}
}

func (a *connection) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, a.timeout)
}

// following calls do. If that follows events, --timeout has no default, and its end is not an error.
func (a *connection) following(c *cobra.Command, follow bool, do func(context.Context) error) error {
	if follow && !c.Flags().Changed("timeout") {
		a.timeout = 0
	}
	ctx, cancel := a.limited(c.Context())
	defer cancel()
	err := do(ctx)
	if follow && (ctx.Err() != nil || status.Code(err) == codes.DeadlineExceeded) {
		return nil
	}
	return err
}

// invoke calls a method of the storage API, in the agent's newest version, or of the admin endpoint. Its error is a
// failure.
func invoke[C, Q, R any](ctx context.Context, a *connection, m method[C, Q, R], request Q) (response R, err error) {
	if err := adminclient.CheckPlace(a.socketDir); err != nil {
		return response, err
	}
	ctx, cancel := a.limited(ctx)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, policy.OperatorHeader, "csi-proxyctl")
	client := a.client()
	for _, group := range []any{client.Disk, client.Filesystem, client.ISCSI, client.NodeSteps, client.SMB, client.System,
		client.Volume} {
		if of, ok := group.(C); ok {
			var trailer metadata.MD
			response, err = m(of, ctx, request, grpc.Trailer(&trailer))
			a.addGaps(trailer[errdefs.GapsTrailer])
			return response, a.explain(ctx, err)
		}
	}
	admin, err := adminclient.Dial(ctx, a.socketDir)
	if err != nil {
		return response, a.explain(ctx, err)
	}
	defer func() { _ = admin.Close() }()
	response, err = m(any(admin).(C), ctx, request)
	return response, a.explain(ctx, adminclient.Explain(err))
}

func (a *connection) addGaps(texts []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, text := range texts {
		if !slices.Contains(a.gaps, text) {
			a.gaps = append(a.gaps, text)
		}
	}
}

// explain returns a call's error as a failure. What took too long, the connection too, has one text.
func (a *connection) explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, csiproxy.ErrStillRunning), errors.Is(err, context.DeadlineExceeded),
		status.Code(err) == codes.DeadlineExceeded,
		errors.As(err, new(*dial.Error)) && !errors.Is(err, fs.ErrNotExist) && ctx.Err() != nil:
		return failedWith(codes.DeadlineExceeded, fmt.Sprintf("the agent in %s has not answered in time, and completes a "+
			"change that has begun; csi-proxyctl doctor shows what hangs", a.location()))
	}
	return failure{err}
}
