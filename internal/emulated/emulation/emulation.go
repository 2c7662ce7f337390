// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"cmp"
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
	// Config is the agent's. Its Kernel is the node.
	agent.Config
	// StateDir is the directory of the node. Sockets and records are below it unless Config says otherwise.
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

	close  func() error // closes the node, once
	server server.Options

	mu    sync.Mutex
	node  *node.Node        // that of local
	local *local.Connection // see Local; nil until it is used
}

// Start starts an agent on an emulated node, as agent.Start does on a real one.
func Start(ctx context.Context, c Config) (_ *Agent, err error) {
	own := &c.Config
	if runtime.GOOS != "windows" {
		own.Transport.SocketDir = cmp.Or(own.Transport.SocketDir, filepath.Join(c.StateDir, "run"))
	}
	own.Node.Records = cmp.Or(own.Node.Records, filepath.Join(c.StateDir, emulated.RecordsDir))
	own.Node.Resolve = func(context.Context, string, string) ([]netip.Addr, error) { return nil, nil } // it has no DNS
	own.Transport.OwnUser = true
	n, err := emulated.Open(c.StateDir, c.Node)
	if err != nil {
		return nil, err
	}
	a := &Agent{Emulated: n, Journal: journal.New(journalEntries, server.RequestID), Faults: faults.New(c.Crash),
		close: sync.OnceValue(n.Close)}
	c.Kernel = n
	own.Node.Interceptor = kernel.Chain(a.Journal.Intercept, own.Node.Interceptor, a.Faults.Intercept, n.TakeTime)
	own.Server.Recorders = append([]server.Recorder{a.record}, own.Server.Recorders...)
	own.Around, own.Admin = a.disturb, a.control
	a.server = own.Server
	if _, err = agent.Start(ctx, *own); err != nil { // control sets a.Agent
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

// Stop stops the agent, see agent.Agent.Stop, and closes the node.
func (a *Agent) Stop(ctx context.Context) error {
	a.Journal.Close() // calls wait for it
	return errors.Join(a.StopAfter(ctx, a.EndFaults), a.close())
}
