// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

// serving is the node's operations and the server of the API. A reboot replaces it.
type serving struct {
	node *node.Node
	api  *server.Server
}

// serve creates the node's operations and serves them.
func (a *Agent) serve() error {
	n, err := node.New(a.config.Kernel, a.config.Node)
	if err != nil {
		return err
	}
	n.EnablePrivileges(klog.NewContext(context.Background(), a.config.Server.Logger))
	selected := a.config.APIs.Apply(apis.All(n))
	if a.config.Around != nil {
		selected = a.config.Around(selected)
	}
	api, err := server.Start(a.endpoints, selected, a.config.Server)
	if err != nil {
		return err
	}
	a.serving.Store(&serving{node: n.For(operation.Everything()), api: api})
	return nil
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
	return errdefs.Unavailable.Errorf(reason.NodeNotServed, "the node is rebooting or the agent is stopping; try again")
}
