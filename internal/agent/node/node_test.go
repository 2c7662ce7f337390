// SPDX-License-Identifier: Apache-2.0

package node

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
)

// newNode returns a Node for a client that may reach everything.
func newNode(k kernel.Kernel, c Config) (*Node, error) {
	n, err := New(k, c)
	if err != nil {
		return nil, err
	}
	return n.For(operation.Everything()), nil
}

// bare returns a Node on a kernel that implements only the methods that a test needs; nil: none.
func bare(t *testing.T, k kernel.Kernel) *Node {
	t.Helper()
	n, err := newNode(k, Config{WorkingDirs: []string{KubeletDir}})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
