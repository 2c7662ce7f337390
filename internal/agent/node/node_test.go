// SPDX-License-Identifier: Apache-2.0

package node

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
)

// newNode returns a Node for a client that may reach everything; no working directories are the usual one.
func newNode(t *testing.T, k kernel.Kernel, c Config) *Node {
	t.Helper()
	if c.WorkingDirs == nil {
		c.WorkingDirs = []string{KubeletDir}
	}
	n, err := New(k, c)
	must(t, err)
	return n.For(operation.Everything())
}

// bare returns a Node on a kernel that implements only the methods that a test needs; nil: none.
func bare(t *testing.T, k kernel.Kernel) *Node {
	t.Helper()
	return newNode(t, k, Config{})
}

// emulate returns an emulated node that lasts as long as the test.
func emulate(t *testing.T, options emulated.Options) *emulated.Node {
	t.Helper()
	k, err := emulated.Open(t.TempDir(), options)
	must(t, err)
	t.Cleanup(func() { _ = k.Close() })
	return k
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
