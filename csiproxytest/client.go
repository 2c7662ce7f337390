// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"path"
	"reflect"
	"testing"

	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	disk "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
	filesystem "github.com/kubernetes-csi/csi-proxy/client/groups/filesystem/v2alpha1"
	iscsi "github.com/kubernetes-csi/csi-proxy/client/groups/iscsi/v1alpha2"
	smb "github.com/kubernetes-csi/csi-proxy/client/groups/smb/v1"
	system "github.com/kubernetes-csi/csi-proxy/client/groups/system/v1alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/groups/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/emulation"
)

// Client connects a client of any group and version to a node, and closes it when the test ends:
//
//	disks := csiproxytest.Client(t, node, diskv1beta3.NewClientWithPipePath)
//
// The function is NewClientWithPipePath of a package of this project's client module; the package's path gives the
// group and version.
func Client[T interface{ Close() error }](t testing.TB, n *Node, newClient func(pipePath string) (T, error)) T {
	t.Helper()
	group, version := groupOf(reflect.TypeFor[T]())
	if group == "" {
		t.Fatalf("%v is not a client of an API group", reflect.TypeFor[T]())
	}
	client, err := newClient(n.Socket(group, version))
	if err != nil {
		t.Fatalf("connecting to %s %s: %v", group, version, err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// groupOf returns the group and version of a pointer to a client: its package is …/groups/GROUP/VERSION.
func groupOf(client reflect.Type) (group, version string) {
	if client.Kind() != reflect.Pointer {
		return "", ""
	}
	dir, version := path.Split(client.Elem().PkgPath())
	dir, group = path.Split(path.Clean(dir))
	if path.Base(dir) != "groups" {
		return "", ""
	}
	return group, version
}

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
// a HostProcess container. A running agent is called by its pipes all the same.
func (n *Node) InProcess() *csiproxy.Client {
	if a, here := n.agent.(interface {
		Local() grpc.ClientConnInterface
	}); here {
		return csiproxy.Over(a.Local())
	}
	return n.Client()
}

// FromAgent returns the node of an agent, and stops it when the test and its subtests end. It is for this repository's
// own tests, which configure an agent: drivers use Start.
func FromAgent(t testing.TB, a *emulation.Agent) *Node {
	t.Helper()
	n := &Node{t: t, agent: a, emulated: a, machine: a.Emulated, kubelet: node.KubeletDir}
	t.Cleanup(n.stop)
	n.Reconnect()
	return n
}

// Reconnect gives the node new clients, like those of a driver that starts again after a reboot.
func (n *Node) Reconnect() {
	n.t.Helper()
	n.Disk = Client(n.t, n, disk.NewClientWithPipePath)
	n.Filesystem = Client(n.t, n, filesystem.NewClientWithPipePath)
	n.ISCSI = Client(n.t, n, iscsi.NewClientWithPipePath)
	n.SMB = Client(n.t, n, smb.NewClientWithPipePath)
	n.System = Client(n.t, n, system.NewClientWithPipePath)
	n.Volume = Client(n.t, n, volume.NewClientWithPipePath)
}
