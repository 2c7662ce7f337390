// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
)

// connection holds the flags that all commands have: how they reach the agent and in which form they print.
type connection struct {
	socketDir string
	timeout   time.Duration
	output    output

	client  func() *csiproxy.Client       // the client of the storage API, which all calls share
	takes   map[*cobra.Command][]argument // the arguments of the commands
	callers map[string]*cobra.Command     // the command that calls each method of the storage API
	running *cobra.Command                // the command, once its line is understood
	args    []string                      // its arguments
}

// newClient returns a client that does not wait for an agent that is not there, so that the user learns it at once.
func (a *connection) newClient() *csiproxy.Client {
	return csiproxy.New(csiproxy.Options{SocketDir: a.socketDir, Restart: -1})
}

// calledBy notes which command calls a method of the storage API.
func (a *connection) calledBy(c *cobra.Command, method string) {
	if a.callers[method] == nil {
		a.callers[method] = c
	}
}

// limited returns a command's context, limited to the time that the command may take.
func (a *connection) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, a.timeout)
}

// untilInterrupted takes the limit off a command that follows something, unless the user set one.
func (a *connection) untilInterrupted(c *cobra.Command, follow bool) {
	if follow && !c.Flags().Changed("timeout") {
		a.timeout = 0
	}
}

// poll looks at intervals until look is done or fails, or the context ends.
func poll(ctx context.Context, interval time.Duration, look func() (done bool, err error)) error {
	for {
		if done, err := look(); done || err != nil {
			return err
		}
		select {
		case <-time.After(interval):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// invoke calls a method of the storage API, in the newest version that the agent has, or of the admin endpoint. It
// turns an error into a failure.
func invoke[C, Q, R any](ctx context.Context, a *connection, m method[C, Q, R], request Q) (response R, err error) {
	if err := adminclient.CheckPlace(a.socketDir); err != nil {
		return response, err
	}
	ctx, cancel := a.limited(ctx)
	defer cancel()
	client := a.client()
	for _, group := range []any{client.Disk, client.Filesystem, client.ISCSI, client.SMB, client.System, client.Volume} {
		if of, ok := group.(C); ok {
			if response, err = m(of, ctx, request); err != nil {
				err = failure{explain(err)}
			}
			return response, err
		}
	}
	err = a.call(ctx, func(ctx context.Context, client *adminclient.Client) (err error) {
		response, err = m(any(client).(C), ctx, request)
		return err
	})
	return response, err
}

// call calls the admin endpoint, and turns an error into a failure.
func (a *connection) call(ctx context.Context, do func(context.Context, *adminclient.Client) error) error {
	if err := adminclient.CheckPlace(a.socketDir); err != nil {
		return err
	}
	ctx, cancel := a.limited(ctx)
	defer cancel()
	client, err := adminclient.Dial(ctx, a.socketDir)
	if err != nil {
		return failure{err}
	}
	defer func() { _ = client.Close() }()
	if err := do(ctx, client); err != nil {
		return failure{adminclient.Explain(err)}
	}
	return nil
}

// explain adds to an exceeded deadline that the change goes on, and the next command.
func explain(err error) error {
	if errors.Is(err, csiproxy.ErrStillRunning) || status.Code(err) == codes.DeadlineExceeded {
		return &adminclient.Error{Text: "no answer in time, and what has begun goes on; csi-proxyctl doctor shows what hangs",
			Err: err}
	}
	return err
}
