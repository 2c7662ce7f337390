// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// Client returns one client of all groups, as csiproxy.New makes it for an agent and inprocess.Open for a HostProcess
// container, for a driver that takes such a client from either. It is closed when the test ends.
func (n *Node) Client() *csiproxy.Client {
	client := csiproxy.New(csiproxy.Options{
		PipePath: func(group string, version apiversion.Version) string { return n.Socket(group, version.String()) },
	})
	n.t.Cleanup(func() { _ = client.Close() })
	return client
}

// InProcess returns a client that calls the node without sockets, for tests of a driver that uses package inprocess in
// a HostProcess container.
func (n *Node) InProcess() *csiproxy.Client { return csiproxy.Over(n.agent.Local()) }
