// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// The target of a link in a tree stays.
func TestTreesAreEmptiedWithoutLinks(t *testing.T) {
	if testnode.OnWine() {
		t.Skip("nothing of this depends on the system")
	}
	s := emulatedSubject(t, emulated.DefaultSwitches())
	if err := makeDirectory(s, `C:\`, "others"); err != nil {
		t.Fatal(err)
	}
	n, err := node.New(s.Kernel, node.Config{WorkingDirs: []string{`C:\var\lib\kubelet`, `C:\others`}})
	if err != nil {
		t.Fatal(err)
	}
	n = n.For(operation.Everything())
	n.EnablePrivileges(t.Context())
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	there := func(path string, want bool) {
		t.Helper()
		if got, err := n.Filesystem.PathExists(t.Context(), path); err != nil || got != want {
			t.Errorf("%s exists: %t (%v), want %t", path, got, err, want)
		}
	}
	const tree = mountParent + `\tree`
	for _, dir := range []string{`C:\others\up\tree\precious`, tree + `\below\deep`} {
		do(n.Filesystem.Mkdir(t.Context(), dir))
	}
	do(n.Filesystem.CreateSymlink(t.Context(), `C:\others\up\tree`, tree+`\below\link`))
	do(emptyTree(t.Context(), s.Kernel, mountParent, tree))
	there(tree, true)
	there(tree+`\below`, false)
	there(`C:\others\up\tree\precious`, true)
}
