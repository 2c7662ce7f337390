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

// connection holds the flags that all commands have: how they reach the agent and in which form they print.
type connection struct {
	socketDir string
	timeout   time.Duration
	output    output

	running *cobra.Command // the command, once its line is understood
	args    []string       // its arguments

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

// api calls the storage API, in the newest versions that the agent has, and turns an error into a failure. If the call
// takes long, the user sees doing, such as "formatting the volume", unless it is empty.
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

// client returns a client that does not wait for an agent that is not there, so that the user learns it at once.
func (a *connection) client() *csiproxy.Client {
	return csiproxy.New(csiproxy.Options{SocketDir: a.socketDir, Restart: -1})
}

// explain adds what a person can do about an error, if its text does not say so.
func explain(err error) error {
	if errors.Is(err, csiproxy.ErrStillRunning) || status.Code(err) == codes.DeadlineExceeded {
		return fmt.Errorf("%w; csi-proxyctl doctor shows what hangs; a change that has begun goes on in the agent: repeat "+
			"the command, with a longer --timeout, to wait for it", err)
	}
	return err
}
