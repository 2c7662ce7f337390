// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// Client is one client of all groups, as csiproxy.New makes it for an agent and inprocess.Open for a HostProcess
// container: a driver that takes such a client is tested with this one, whichever it uses. It is closed when the test
// ends.
func (n *Node) Client() *csiproxy.Client {
	client := csiproxy.New(csiproxy.Options{
		PipePath: func(group string, version apiversion.Version) string { return n.Socket(group, version.String()) },
	})
	n.t.Cleanup(func() { _ = client.Close() })
	return client
}

// InProcess returns a client that calls the node without sockets, as a driver in a HostProcess container calls the machine
// that it runs on: for tests of what goes through package inprocess otherwise.
func (n *Node) InProcess() *csiproxy.Client { return csiproxy.Over(n.agent.Local()) }
