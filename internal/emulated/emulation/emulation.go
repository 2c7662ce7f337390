// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"context"
	"errors"
	"net/netip"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/journal"
	"github.com/kubernetes-csi/csi-proxy/internal/local"
)

// Config is an emulated node and how its agent serves it.
type Config struct {
	// Config is the agent's. Kernel is the node, which the caller closes, or whose calls it records. Nil: the one in
	// StateDir.
	agent.Config
	// StateDir is the directory of the node that the agent opens and closes. Sockets and records are below it unless
	// Config says otherwise.
	StateDir string
	// Node are the options of the node in StateDir.
	Node emulated.Options
	// Crash ends the process at once, for faults that ask for it; nil: they are refused.
	Crash func()
}

// An Agent serves an emulated node, and has the journal and the faults of its calls.
type Agent struct {
	*agent.Agent
	Emulated *emulated.Node
	Journal  *journal.Journal
	Faults   *faults.Set

	close  func() error // closes the node, once, if Start opened it
	server server.Options

	mu    sync.Mutex
	node  *node.Node        // that of local
	local *local.Connection // see Local; nil until it is used
}

// Start starts an agent on an emulated node, as agent.Start does on a real one.
func Start(ctx context.Context, c Config) (_ *Agent, err error) {
	own := &c.Config
	if own.Transport.SocketDir == "" && c.StateDir != "" && runtime.GOOS != "windows" {
		own.Transport.SocketDir = filepath.Join(c.StateDir, "run")
	}
	if own.Node.Records == "" && c.StateDir != "" {
		own.Node.Records = filepath.Join(c.StateDir, emulated.RecordsDir)
	}
	own.Node.Resolve = func(context.Context, string, string) ([]netip.Addr, error) { return nil, nil } // it has no DNS
	own.Transport.OwnUser = true
	a := &Agent{Journal: journal.New(journalEntries, server.RequestID), Faults: faults.New(c.Crash),
		close: func() error { return nil }}
	n, given := c.Kernel.(*emulated.Node)
	if !given {
		if c.StateDir == "" {
			return nil, errors.New("an agent on an emulated node needs the node or its state directory")
		}
		if n, err = emulated.Open(c.StateDir, c.Node); err != nil {
			return nil, err
		}
		c.Kernel, a.close = n, sync.OnceValue(n.Close)
	}
	a.Emulated = n
	n.Hasten(false)
	own.Node.Interceptor = kernel.Chain(a.Journal.Intercept, own.Node.Interceptor, a.Faults.Intercept, n.TakeTime)
	own.Server.Recorders = append([]server.Recorder{a.record}, own.Server.Recorders...)
	own.Around, own.Admin = a.disturb, a.control
	a.server = own.Server
	if a.Agent, err = agent.Start(ctx, *own); err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

// Stop stops the agent, see agent.Agent.Stop, and closes the node that Start opened.
func (a *Agent) Stop(ctx context.Context) error {
	a.Journal.Close() // calls wait for it
	return errors.Join(a.StopAfter(ctx, a.EndFaults), a.close())
}

// Restart reboots the node; its agent cuts calls off as a reboot does, and then serves again.
func (a *Agent) Restart(ctx context.Context) error { return a.reboot(ctx, a.Agent) }

// Restore makes the node what was saved in a directory, and serves it again, as Restart does.
func (a *Agent) Restore(ctx context.Context, directory string) error {
	return a.restore(ctx, a.Agent, directory)
}
