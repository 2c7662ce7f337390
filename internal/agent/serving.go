// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"net"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// serving is the node's operations and the server of the API. A reboot replaces it.
type serving struct {
	node *node.Node
	api  *server.Server
}

// serve creates the node's operations and serves them.
func (a *Agent) serve() error {
	o := server.Options{
		Failed: a.fail, Logger: a.config.Logger, Recorders: a.recorders(),
		Limits: a.config.Limits, CallTimeout: a.config.CallTimeout, Policy: a.config.Policy,
	}
	var observe operation.Observer
	if a.metrics != nil {
		o.Metrics, observe = a.metrics.Calls, a.metrics.Operations.Observe
	}
	resolve := net.DefaultResolver.LookupNetIP
	if a.config.Emulation != nil {
		resolve = nil // its servers have no addresses
	}
	var kept []winpath.Path
	if a.config.Policy != nil {
		kept = a.config.Policy.Directories()
	}
	n, err := node.New(a.config.Kernel, node.Config{
		Resolve: resolve, Kept: kept,
		WorkingDirs: a.config.WorkingDirs, Interceptor: a.config.Interceptor, RequirePrivacy: a.config.RequirePrivacy,
		EraseOnFormat: a.config.EraseOnFormat, ProtectedServices: a.config.ProtectedServices,
		OwnService: a.config.OwnService,
		Records:    a.config.RecordsDir, Observer: observe, Lease: server.LeaseOf, Idle: server.Idle,
	})
	if err != nil {
		return err
	}
	n.EnablePrivileges(klog.NewContext(context.Background(), a.config.Logger))
	selected := a.config.APIs.Apply(apis.All(n))
	if a.config.Emulation != nil {
		selected = a.config.Emulation.Disturb(selected)
	}
	api, err := server.Start(a.endpoints, selected, o)
	if err != nil {
		return err
	}
	a.serving.Store(&serving{node: n.For(operation.Everything()), api: api})
	return nil
}

// recorders returns what records calls: the journal of an emulated node, and the audit log.
func (a *Agent) recorders() (all []server.Recorder) {
	if a.config.Emulation != nil {
		all = append(all, a.config.Emulation.Record)
	}
	if a.config.Audit != nil {
		all = append(all, a.config.Audit)
	}
	return all
}

// API returns the server of the API; nil while the node reboots or the agent stops.
func (a *Agent) API() *server.Server {
	if s := a.serving.Load(); s != nil {
		return s.api
	}
	return nil
}

// Node returns the node's operations. It fails while API returns nil.
func (a *Agent) Node() (*node.Node, error) {
	if s := a.serving.Load(); s != nil {
		return s.node, nil
	}
	return nil, notServed()
}

// notServed returns the error of Node while nothing is served.
func notServed() error {
	return errdefs.Unavailable.Errorf("NODE_NOT_SERVED", "the node is rebooting or the agent is stopping; try again")
}
