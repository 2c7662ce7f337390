// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/faults"
	"github.com/kubernetes-csi/csi-proxy/internal/journal"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/metrics"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// AdminEndpoint is the name of the admin endpoint's socket or pipe.
const AdminEndpoint = "csiproxy-admin"

// grace is how long running calls may go on when the agent stops.
const grace = 10 * time.Second

// An Agent serves one node.
type Agent struct {
	config   Config
	emulated *emulated.Node   // nil when the node is a real one
	owned    bool             // the agent opened the emulated node
	journal  *journal.Journal // nil when the node is a real one
	faults   *faults.Set      // nil when the node is a real one
	place    server.Transport
	admin    *server.Server
	paths    func(endpoint string) string
	failed   chan error
	failure  atomic.Pointer[error] // what failed was told first
	metrics  *metrics.Metrics      // nil: nothing is counted

	lifecycle sync.Mutex // held while the agent stops or restarts
	stopped   bool

	mu        sync.RWMutex // guards what a restart replaces
	api       *server.Server
	node      *node.Node           // nil, as api and local, while the node is away
	local     func() *server.Local // made when it is first asked for
	endpoints []string             // the names of the API's, also then
}

// Start starts an agent. When it returns, every endpoint accepts calls; when it fails, nothing is left open. The
// context is for the start alone.
func Start(ctx context.Context, config Config) (_ *Agent, err error) {
	config, err = config.complete()
	if err != nil {
		return nil, err
	}
	a := &Agent{config: config, failed: make(chan error, 1)}
	defer func() {
		if err != nil {
			_ = a.release()
		}
	}()
	if config.Kernel == nil {
		a.emulated, err = emulated.Open(config.StateDir, config.Emulated)
		if err != nil {
			return nil, err
		}
		a.config.Kernel, a.owned = a.emulated, true
	} else {
		a.emulated, _ = config.Kernel.(*emulated.Node)
	}
	a.count()
	a.watch()
	place := server.Place{SocketDir: config.SocketDir, PipePrefix: config.PipePrefix, PipeSecurity: config.PipeSecurity, OwnUser: a.emulated != nil}
	if a.place, err = place.Open(); err != nil {
		return nil, err
	}
	a.paths = a.place.Path
	err = a.open()
	if err != nil {
		return nil, err
	}
	if a.admin, err = server.Start(a.place.Private(), []server.Endpoint{a.adminEndpoint()}, server.Options{Failed: a.fail, Logger: a.config.Logger, Record: a.record(), Limits: a.config.Limits}); err != nil {
		_ = a.api.Stop(ended())
		return nil, err
	}
	if err = ctx.Err(); err != nil {
		_ = a.Stop(ended())
		return nil, err
	}
	return a, nil
}

// open makes the node's operations and serves them.
func (a *Agent) open() error {
	calls, operations := a.counters()
	n, err := node.New(a.config.Kernel, node.Config{
		WorkingDirs: a.config.WorkingDirs, Interceptor: a.config.Interceptor, RequirePrivacy: a.config.RequirePrivacy,
		Observer: operations, Hold: server.Hold,
	})
	if err != nil {
		return err
	}
	endpoints := a.config.APIs.Apply(server.APIs(n))
	disturb := a.disturbance(endpoints)
	api, err := server.Start(a.place, endpoints, server.Options{
		Metrics: calls, Failed: a.fail, Logger: a.config.Logger, Record: a.record(), Disturb: disturb,
		Limits: a.config.Limits, CallTimeout: a.config.CallTimeout,
	})
	if err != nil {
		return err
	}
	local := sync.OnceValue(func() *server.Local {
		return server.NewLocal(server.APIs(n), server.Options{
			Metrics: calls, Logger: a.config.Logger, Record: a.record(), Disturb: disturb,
		})
	})
	a.mu.Lock()
	a.api, a.node, a.local, a.endpoints = api, n, local, nil
	for _, e := range endpoints {
		a.endpoints = append(a.endpoints, e.Name)
	}
	a.mu.Unlock()
	return nil
}

// Ready is how many API endpoints accept calls.
func (a *Agent) Ready() int {
	if api, _ := a.serving(); api != nil {
		return len(api.Endpoints())
	}
	return 0
}

// serving returns what serves the API now, nil and nil while the node reboots or the agent stops.
func (a *Agent) serving() (*server.Server, *node.Node) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.api, a.node
}

// take takes the API away.
func (a *Agent) take() (*server.Server, *node.Node) {
	a.mu.Lock()
	defer a.mu.Unlock()
	api, n := a.api, a.node
	a.api, a.node, a.local = nil, nil, nil
	return api, n
}

// Failed delivers one error when the agent cannot go on, as one of its listeners died. Stop is still to be called.
func (a *Agent) Failed() <-chan error { return a.failed }

func (a *Agent) fail(err error) {
	a.failure.CompareAndSwap(nil, &err)
	select {
	case a.failed <- err:
	default:
	}
}

// Emulated is the emulated node, nil when the agent works on a real one.
func (a *Agent) Emulated() *emulated.Node { return a.emulated }

// SocketDir is the directory of the agent's sockets, empty on Windows.
func (a *Agent) SocketDir() string { return a.config.SocketDir }

// Path is where clients find an endpoint: of AdminEndpoint, or of "csi-proxy-disk-v1". The clients' NewClientWithPipePath
// takes it.
func (a *Agent) Path(endpoint string) string { return a.paths(endpoint) }

// Stop stops accepting calls, gives the running ones ten seconds, and then waits until nothing that they began is
// running on the node any more. When the context ends first it goes without waiting, and says so in its error. Later
// calls do nothing.
func (a *Agent) Stop(ctx context.Context) error {
	a.lifecycle.Lock()
	defer a.lifecycle.Unlock()
	if a.stopped {
		return nil
	}
	a.stopped = true
	if a.emulated != nil {
		a.journal.Close()
		a.faults.Abort()
		a.faults.Release()
	}
	patience, cancel := context.WithTimeout(ctx, grace)
	defer cancel()

	api, n := a.take()
	var servers sync.WaitGroup
	for _, s := range []*server.Server{api, a.admin} {
		if s == nil {
			continue
		}
		servers.Go(func() {
			if err := s.Stop(patience); err != nil {
				a.config.Logger.Info("endpoints closed before their calls were over", "err", err)
			}
		})
	}
	servers.Wait()
	var err error
	if n != nil {
		err = n.Drain(ctx)
	}
	return errors.Join(err, a.release())
}

// release closes what the agent opened for itself, once.
func (a *Agent) release() error {
	var errs []error
	if a.place != nil {
		errs = append(errs, a.place.Close())
		a.place = nil
	}
	if a.owned {
		errs = append(errs, a.emulated.Close())
		a.owned = false
	}
	return errors.Join(errs...)
}

// Restart reboots the emulated node: it closes the API's endpoints, cutting calls off as a reboot does, reboots the
// node and serves again. The admin endpoint stays. When the node cannot be served again, Failed delivers that error
// too.
func (a *Agent) Restart(ctx context.Context) error {
	if a.emulated == nil {
		return errors.New("only an emulated node can be rebooted by its agent")
	}
	// Not waiting for the lock: Stop would hold it, and wait for the admin call that this is part of.
	if !a.lifecycle.TryLock() {
		return notServed()
	}
	defer a.lifecycle.Unlock()
	if a.stopped {
		return notServed()
	}
	api, n := a.take()
	if api != nil {
		_ = api.Stop(ended()) // its error says that calls were cut off, which is meant
	}
	a.faults.Abort()
	if n != nil {
		patience, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		if err := n.Drain(patience); err != nil {
			a.config.Logger.Info("operations of the node are still running as it reboots", "err", err)
		}
	}
	err := a.emulated.Reboot()
	if err == nil {
		err = a.open()
	}
	if err != nil {
		err = fmt.Errorf("the emulated node does not come back: %w", err)
		a.fail(err)
	}
	return err
}

// notServed is the error of those who ask for the node while it is away.
func notServed() error {
	return &node.Error{Class: node.Unavailable, Reason: "NODE_NOT_SERVED", Message: "the node is rebooting or the agent is stopping; try again"}
}

// ended is a context that is over: for stopping without waiting.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
