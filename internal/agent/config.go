// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"net"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
)

// Config is what an agent works on and what it serves.
type Config struct {
	// Kernel is the node to work on, which the caller closes.
	Kernel kernel.Kernel
	// Node is how operations are done. No working directory: node.KubeletDir; no Resolve: the machine's resolver.
	// Start adds what the parts of an agent are to each other: Observer, Lease, Idle, and the policy's directories.
	Node node.Config
	// Server is how calls are served; its policy and its call timeout do not apply to the admin endpoint. Start adds the
	// metrics.
	Server server.Options
	// Transport is where the agent is served.
	Transport transport.Options
	// APIs selects the API groups and versions that are served; nil: all.
	APIs *apis.Selection
	// Metrics counts and times calls, operations and kernel calls; see Agent.Metrics.
	Metrics bool
	// KernelHistograms makes Metrics count how long each kernel function takes, in many series.
	KernelHistograms bool
	// Around returns the endpoints of the API as they are served; nil: as they are.
	Around func([]server.Endpoint) []server.Endpoint
	// Admin returns further services of the admin endpoint; it may be nil.
	Admin func(*Agent) []server.Service
}

// complete returns the configuration with its defaults filled in.
func (c Config) complete() (Config, error) {
	if c.Kernel == nil {
		return c, errors.New("an agent needs a kernel")
	}
	if len(c.Node.WorkingDirs) == 0 {
		c.Node.WorkingDirs = []string{node.KubeletDir}
	}
	if c.Server.Logger.GetSink() == nil {
		c.Server.Logger = klog.Background()
	}
	if c.Server.Policy != nil {
		c.Node.Kept = c.Server.Policy.Directories()
	}
	if c.Node.Resolve == nil { // a server of this machine is refused by whatever name
		c.Node.Resolve = net.DefaultResolver.LookupNetIP
	}
	c.Node.Lease, c.Node.Idle = server.LeaseOf, server.Idle
	return c, nil
}
