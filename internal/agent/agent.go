// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/admin"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/metrics"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
)

// grace is how long running calls may go on when the agent stops.
const grace = 10 * time.Second

// An Agent serves one node.
type Agent struct {
	config    Config
	endpoints transport.Endpoints
	admin     *server.Server
	metrics   *metrics.Metrics // nil: nothing collects them
	failed    context.Context  //nolint:containedctx // see Failed
	fail      context.CancelCauseFunc

	lifecycle sync.Mutex // held while the agent stops or restarts
	stopped   bool

	serving atomic.Pointer[serving] // nil while nothing is served
}

// Start starts an agent, before the context ends. When it returns, all endpoints accept; when it fails, none is open.
func Start(ctx context.Context, config Config) (_ *Agent, err error) {
	config, err = config.complete()
	if err != nil {
		return nil, err
	}
	a := &Agent{config: config}
	a.failed, a.fail = context.WithCancelCause(context.Background())
	a.config.Server.Failed = a.fail
	defer func() {
		if err != nil {
			_ = a.Stop(ended())
		}
	}()
	a.count()
	var more []server.Service
	if config.Admin != nil {
		more = config.Admin(a)
	}
	a.endpoints, err = transport.Open(config.Transport)
	if err != nil {
		return nil, err
	}
	if err = a.serve(); err != nil {
		return nil, err
	}
	own := a.config.Server
	own.Metrics, own.Policy, own.CallTimeout = nil, nil, 0
	a.admin, err = server.Start(a.endpoints, []server.Endpoint{admin.Endpoint(a, more...)}, own)
	if err != nil {
		return nil, err
	}
	if err = ctx.Err(); err != nil {
		return nil, err
	}
	return a, nil
}

// Policy returns the operator's policy; nil: there is none.
func (a *Agent) Policy() *policy.Policy { return a.config.Server.Policy }

// Ready returns how many API endpoints accept calls.
func (a *Agent) Ready() int {
	if api := a.API(); api != nil {
		return len(api.Endpoints())
	}
	return 0
}

// Failed returns a context that is over, with the cause, once the agent cannot go on because a listener died. Stop must
// still be called.
func (a *Agent) Failed() context.Context { return a.failed }

// Path returns the path of an endpoint, such as "csi-proxy-disk-v1", for the clients' NewClientWithPipePath.
func (a *Agent) Path(endpoint string) string { return a.endpoints.Path(endpoint) }

// Stop stops accepting calls, gives the running ones ten seconds, and waits until their operations have ended on the
// node. When the context ends first, its error says so. Later calls do nothing.
func (a *Agent) Stop(ctx context.Context) error { return a.StopAfter(ctx, func() {}) }

// StopAfter is Stop for an agent around which something stands: idle is called when running calls have had their time,
// before the wait for their operations.
func (a *Agent) StopAfter(ctx context.Context, idle func()) error {
	a.lifecycle.Lock()
	defer a.lifecycle.Unlock()
	if a.stopped {
		return nil
	}
	a.stopped = true
	waitCtx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()

	servers := []*server.Server{a.API(), a.admin}
	s := a.serving.Swap(nil)
	var stopping sync.WaitGroup
	for _, one := range servers {
		if one == nil {
			continue
		}
		stopping.Go(func() {
			if err := one.Stop(waitCtx); err != nil {
				a.config.Server.Logger.Info("endpoints closed before their calls were over", "err", err)
			}
		})
	}
	stopping.Wait()
	idle()
	var errs []error
	if s != nil {
		errs = append(errs, s.node.Drain(ctx))
	}
	if a.endpoints != nil {
		errs = append(errs, a.endpoints.Close())
	}
	return errors.Join(errs...)
}

// Interrupt makes a change of the node while the API is not served: it cuts calls off, calls abort so that their
// operations end, makes the change and serves again. The admin endpoint stays open. If the node does not come back,
// Failed says so.
func (a *Agent) Interrupt(ctx context.Context, abort func(), change func() error) error {
	// Do not wait for the lock: Stop may hold it, and waits for the admin call that this is part of.
	if !a.lifecycle.TryLock() {
		return notServed()
	}
	defer a.lifecycle.Unlock()
	if a.stopped {
		return notServed()
	}
	s := a.serving.Swap(nil)
	if s != nil {
		_ = s.api.Stop(ended()) // its error says that calls were cut off, as intended
	}
	abort()
	if s != nil {
		waitCtx, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		if err := s.node.Drain(waitCtx); err != nil {
			a.config.Server.Logger.Info("operations of the node are still running as it changes", "err", err)
		}
	}
	err := change()
	if err == nil {
		err = a.serve()
	}
	if err != nil {
		err = fmt.Errorf("the node does not come back: %w", err)
		a.fail(err)
	}
	return err
}

// ended returns a canceled context, for stopping without waiting.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
