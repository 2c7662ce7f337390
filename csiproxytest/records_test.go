// SPDX-License-Identifier: Apache-2.0

package csiproxytest_test

import (
	"testing"

	nodestepsapi "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
)

// A node that is restored, and a copy, know who uses a share: the last user removes its mapping.
func TestSavedNodeHasItsRecords(t *testing.T) {
	t.Parallel()
	n := csiproxytest.Start(t, csiproxytest.Options{})
	unstaged := func(what string, n *csiproxytest.Node) {
		t.Helper()
		if _, err := n.Client().NodeSteps.Unstage(t.Context(), &nodestepsapi.UnstageRequest{TargetPath: staging}); err != nil {
			t.Fatal(err)
		}
		if mapped := n.Mappings(); len(mapped) != 0 {
			t.Errorf("%s: the mappings are %v", what, mapped)
		}
	}
	if _, err := n.Client().NodeSteps.StageShare(t.Context(), &nodestepsapi.StageShareRequest{
		RemotePath: `\\fs.emulated\share`, TargetPath: staging, Username: "csi", Password: "csi-password"}); err != nil {
		t.Fatal(err)
	}
	saved, clone := n.Save(), n.Clone(t, csiproxytest.Options{})
	unstaged("the node", n)
	unstaged("its copy", clone)
	n.Restore(saved)
	unstaged("the restored node", n)
}
