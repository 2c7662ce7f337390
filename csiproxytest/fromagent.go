// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"testing"

	disk "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v2alpha1"
	iscsi "github.com/kubernetes-csi/csi-proxy/client/groups/iscsi/v1alpha2"
	smb "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1"
	system "github.com/kubernetes-csi/csi-proxy/client/groups/system/v1alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulation"
)

// FromAgent returns the node of an agent that a test started itself, with a configuration that Options do not offer,
// and stops it when the test and its subtests end. Only this repository can import the agent's package: a driver's test
// calls Start.
func FromAgent(t testing.TB, a *emulation.Agent) *Node {
	t.Helper()
	n := &Node{t: t, agent: a}
	t.Cleanup(n.stop)
	n.Reconnect()
	return n
}

// Reconnect gives the node new clients, like those of a driver that starts again after a reboot. The first call of a
// client that was connected before a reboot may fail with UNAVAILABLE, like any call that a reboot cuts off.
func (n *Node) Reconnect() {
	n.t.Helper()
	n.Disk = Client(n.t, n, disk.NewClientWithPipePath)
	n.Filesystem = Client(n.t, n, filesystem.NewClientWithPipePath)
	n.ISCSI = Client(n.t, n, iscsi.NewClientWithPipePath)
	n.SMB = Client(n.t, n, smb.NewClientWithPipePath)
	n.System = Client(n.t, n, system.NewClientWithPipePath)
	n.Volume = Client(n.t, n, volume.NewClientWithPipePath)
}
