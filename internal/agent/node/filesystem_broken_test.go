// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
)

// A workload may make links that lead nowhere without end. Of a directory that lies in another working directory, each
// is reported once.
func TestDanglingWithoutEnd(t *testing.T) {
	_, k, _ := treeNode(t, nil)
	n := newNode(t, k, Config{WorkingDirs: []string{KubeletDir, treePath}})
	plant := func(name string) {
		t.Helper()
		plantJunction(t, k, treePath+`\`+name, KubeletDir+`\nowhere`)
	}
	for i := range 3 {
		plant(fmt.Sprint(i))
	}
	links, err := n.Filesystem.Links(t.Context())
	if err != nil || len(links.Dangling) != 3 {
		t.Errorf("%d of 3 links, %v", len(links.Dangling), err)
	}
	for i := range maxDanglingFound {
		plant(fmt.Sprint("more", i))
	}
	links, err = n.Filesystem.Links(t.Context())
	if !errdefs.HasReason(err, reason.TooManyEntries) || len(links.Dangling) != maxDanglingFound {
		t.Errorf("%d links, %v", len(links.Dangling), err)
	}
}
