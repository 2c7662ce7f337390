// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"path"
	"reflect"
	"testing"
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
