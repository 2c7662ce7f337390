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
	failed    chan error
	failure   atomic.Pointer[error] // the first one sent on failed

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
	a := &Agent{config: config, failed: make(chan error, 1)}
	defer func() {
		if err != nil {
			_ = a.Stop(ended())
		}
	}()
	a.count()
	var control []server.Service
	emulation := config.Emulation
	if emulation != nil {
		a.config.Interceptor = emulation.Interceptor(a.config.Interceptor)
		control = []server.Service{emulation.Control(a)}
	}
	a.endpoints, err = transport.Open(transport.Options{
		SocketDir: config.SocketDir, PipePrefix: config.PipePrefix, PipeSecurity: config.PipeSecurity,
		OwnUser: emulation != nil,
	})
	if err != nil {
		return nil, err
	}
	if err = a.serve(); err != nil {
		return nil, err
	}
	a.admin, err = server.Start(a.endpoints, []server.Endpoint{admin.Endpoint(a, control...)}, server.Options{
		Failed: a.fail, Logger: config.Logger, Recorders: a.recorders(), Limits: config.Limits,
	})
	if err != nil {
		return nil, err
	}
	if err = ctx.Err(); err != nil {
		return nil, err
	}
	return a, nil
}

// Ready returns how many API endpoints accept calls.
func (a *Agent) Ready() int {
	if api := a.API(); api != nil {
		return len(api.Endpoints())
	}
	return 0
}

// Failed delivers one error when the agent cannot go on because a listener died. Stop must still be called.
func (a *Agent) Failed() <-chan error { return a.failed }

func (a *Agent) fail(err error) {
	a.failure.CompareAndSwap(nil, &err)
	select {
	case a.failed <- err:
	default:
	}
}

// SocketDir returns the directory of the agent's sockets, empty on Windows.
func (a *Agent) SocketDir() string { return a.config.SocketDir }

// Path returns the path of an endpoint, such as "csi-proxy-disk-v1", for the clients' NewClientWithPipePath.
func (a *Agent) Path(endpoint string) string { return a.endpoints.Path(endpoint) }

// Stop stops accepting calls, gives the running ones ten seconds, and waits until their operations have ended on the
// node. When the context ends first, its error says so. Later calls do nothing.
func (a *Agent) Stop(ctx context.Context) error {
	a.lifecycle.Lock()
	defer a.lifecycle.Unlock()
	if a.stopped {
		return nil
	}
	a.stopped = true
	if a.config.Emulation != nil {
		a.config.Emulation.Stopping()
	}
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
				a.config.Logger.Info("endpoints closed before their calls were over", "err", err)
			}
		})
	}
	stopping.Wait()
	if a.config.Emulation != nil {
		a.config.Emulation.Close()
	}
	var errs []error
	if s != nil {
		errs = append(errs, s.node.Drain(ctx))
	}
	if a.endpoints != nil {
		errs = append(errs, a.endpoints.Close())
	}
	return errors.Join(errs...)
}

// Interrupt makes a change of an emulated node, such as a reboot, while the API is not served: it cuts calls off, makes
// the change and serves again. The admin endpoint stays open. If the node does not come back, Failed says so.
func (a *Agent) Interrupt(ctx context.Context, change func() error) error {
	if a.config.Emulation == nil {
		return errors.New("only an emulated node can be rebooted by its agent")
	}
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
	a.config.Emulation.Abort()
	if s != nil {
		waitCtx, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		if err := s.node.Drain(waitCtx); err != nil {
			a.config.Logger.Info("operations of the node are still running as it reboots", "err", err)
		}
	}
	err := change()
	if err == nil {
		err = a.serve()
	}
	if err != nil {
		err = fmt.Errorf("the emulated node does not come back: %w", err)
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
