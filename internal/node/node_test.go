// SPDX-License-Identifier: Apache-2.0

package node

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
)

// bare returns a Node on a kernel that implements only the methods that a test needs; nil: none.
func bare(t *testing.T, k kernel.Kernel) *Node {
	t.Helper()
	n, err := New(k, Config{WorkingDirs: []string{KubeletDir}})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
