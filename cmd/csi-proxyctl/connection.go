// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
)

// connection is how the commands reach the agent and their user: what the flags say that all of them have.
type connection struct {
	socketDir string
	timeout   time.Duration
	output    output
}

// limited is a command's context with the time that it may take.
func (a *connection) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, a.timeout)
}

// call calls the admin endpoint, and turns what goes wrong into a failure.
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

// api calls the storage API, in the newest versions that the agent has, and turns what goes wrong into a failure. Doing
// is what the user sees while it takes long: "formatting the volume"; empty: nothing.
func (a *connection) api(c *cobra.Command, doing string, do func(context.Context, *csiproxy.Client) error) error {
	if err := adminclient.CheckPlace(a.socketDir); err != nil {
		return err
	}
	ctx, cancel := a.limited(c.Context())
	defer cancel()
	client := a.client()
	defer func() { _ = client.Close() }()
	stop := showProgress(c.ErrOrStderr(), doing)
	err := do(ctx, client)
	stop()
	if err == nil {
		return nil
	}
	return failure{explain(err)}
}

// client is a client that does not wait for an agent that is not there: a person sees that sooner.
func (a *connection) client() *csiproxy.Client {
	return csiproxy.New(csiproxy.Options{SocketDir: a.socketDir, Restart: -1})
}

// explain says what a person can do about an error whose text does not.
func explain(err error) error {
	if errors.Is(err, csiproxy.ErrStillRunning) || status.Code(err) == codes.DeadlineExceeded {
		return fmt.Errorf("%w; the agent completes what has begun: repeat the command to wait for it, with a longer --timeout", err)
	}
	return err
}
