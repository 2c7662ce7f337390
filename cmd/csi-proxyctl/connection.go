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

	takes   map[*cobra.Command][]argument // the arguments of the commands
	running *cobra.Command                // the command, once its line is understood
	args    []string                      // its arguments

	answered int     // how many endpoints the last look of a wait found
	seen     *uint32 // the number of the disk that a look of a wait found by its serial number
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

// api calls the storage API, in the newest versions that the agent has, and turns an error into a failure. The user
// sees that it takes long.
func (a *connection) api(c *cobra.Command, do func(context.Context, *csiproxy.Client) error) error {
	if err := adminclient.CheckPlace(a.socketDir); err != nil {
		return err
	}
	ctx, cancel := a.limited(c.Context())
	defer cancel()
	client := a.client()
	defer func() { _ = client.Close() }()
	stop := showProgress(c)
	err := do(ctx, client)
	stop()
	if err == nil {
		return nil
	}
	return failure{explain(err)}
}

// client returns a client that does not wait for an agent that is not there, so that the user learns it at once.
func (a *connection) client() *csiproxy.Client {
	return csiproxy.New(csiproxy.Options{SocketDir: a.socketDir, Restart: -1})
}

// explain adds what a person can do about a call whose time is over.
func explain(err error) error {
	if errors.Is(err, csiproxy.ErrStillRunning) || status.Code(err) == codes.DeadlineExceeded {
		return &adminclient.Error{Text: "no answer in time, and what has begun goes on; csi-proxyctl doctor shows what hangs",
			Err: err}
	}
	return err
}
