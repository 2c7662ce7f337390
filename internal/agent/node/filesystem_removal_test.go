// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
)

const treePath = KubeletDir + `\pods\tree`

// treeNode is a node with an empty directory at treePath, which is host on the host.
func treeNode(t *testing.T, around kernel.Interceptor) (n *Node, k *emulated.Node, host string) {
	t.Helper()
	k = emulate(t, emulated.Options{})
	n = newNode(t, k, Config{Interceptor: around})
	must(t, by(t.Context(), n).Mkdir(treePath))
	host, err := k.HostPath(treePath)
	must(t, err)
	return n, k, host
}

// Some file servers lose their place in a listing when files are deleted, and end it too early.
func TestListingsThatEndEarly(t *testing.T) {
	early := 0
	n, _, host := treeNode(t, func(_ context.Context, call kernel.Call, do func() error) error {
		if call.Function == "Information" && call.Code == win32.FileFullDirectoryInfo && early < 2 {
			early++
			return &kernel.Error{Function: "GetFileInformationByHandleEx", Object: call.Object, Code: win32.ERROR_NO_MORE_FILES}
		}
		return do()
	})
	for i := range 3000 {
		if err := os.WriteFile(filepath.Join(host, fmt.Sprintf("%s%04d", strings.Repeat("x", 100), i)),
			nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := by(t.Context(), n).RmdirContents(treePath); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(host); err != nil || len(left) > 0 || early != 2 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}
