// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"path"
	"reflect"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// Connect returns the client that works with agents of any age, connected to the node. Options.PipePath is set for it.
// The client is closed when the test ends.
func (n *Node) Connect(o csiproxy.Options) *csiproxy.Client {
	n.t.Helper()
	o.PipePath = func(group string, version apiversion.Version) string { return n.Socket(group, version.String()) }
	c := csiproxy.New(o)
	n.t.Cleanup(func() { _ = c.Close() })
	return c
}

// InProcess returns a client that calls the node without sockets, as a driver in a HostProcess container calls the machine
// that it runs on: for tests of what goes through package inprocess otherwise.
func (n *Node) InProcess() *csiproxy.Client { return csiproxy.Over(n.agent.Local()) }

// Client connects a client of any group and version to a node, and closes it when the test ends:
//
//	disks := csiproxytest.Client(t, node, diskv1beta3.NewClientWithPipePath)
//
// The function is NewClientWithPipePath of a package of this project's client module, whose path says which group and
// version it is for.
func Client[T interface{ Close() error }](t testing.TB, n *Node, newClient func(pipePath string) (T, error)) T {
	t.Helper()
	group, version := groupOf(reflect.TypeFor[T]())
	if group == "" {
		t.Fatalf("%v is no client of an API group", reflect.TypeFor[T]())
	}
	client, err := newClient(n.Socket(group, version))
	if err != nil {
		t.Fatalf("connecting to %s %s: %v", group, version, err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// groupOf is the group and version of a pointer to a client: its package is …/groups/GROUP/VERSION.
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
