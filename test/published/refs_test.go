// SPDX-License-Identifier: Apache-2.0

//go:build unix

package published

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

// seeing returns a mounter that sees kubelet's directory.
func (n shareNode) seeing() *mounter.Mounter {
	return mounter.New(n.Client()).WithKubelet(csiproxytest.KubeletDir, kubeletFiles{os.DirFS(n.HostPath(csiproxytest.KubeletDir)).(fs.ReadLinkFS), n})
}

// kubeletFiles is kubelet's directory on the machine of the test, with the links that the node's Windows shows.
type kubeletFiles struct {
	fs.ReadLinkFS
	node shareNode
}

func (f kubeletFiles) ReadLink(name string) (string, error) {
	return f.node.emulated().Readlink(csiproxytest.KubeletDir + `\` + strings.ReplaceAll(name, "/", `\`))
}

// TestSharesUsers: a record without its link is not a user, and a link without a record is one where kubelet's directory
// is seen.
func TestSharesUsers(t *testing.T) {
	t.Parallel()
	n := startShares(t)
	ctx := t.Context()
	const share = `\\fs.emulated\share`
	shares := n.seeing().Shares(n.records)
	check(t, "staging", shares.Stage(ctx, share, targetOf("a"), credentials))
	check(t, "staging another", shares.Stage(ctx, share, targetOf("b"), credentials))
	m := mounter.New(n.Client())
	check(t, "staging without a record", m.MountShare(ctx, share+`\dir`, targetOf("c"), credentials))
	check(t, "publishing", m.Mount(targetOf("c"), publish, "", nil))
	check(t, "removing a link", m.Remove(ctx, targetOf("b")))
	check(t, "unstaging", shares.Unstage(ctx, targetOf("a")))
	if !n.mapped(t, share) {
		t.Fatal("the mapping was removed under a link of another driver")
	}
	check(t, "cleaning", n.shares().Clean(ctx)) // this one does not see the link
	if n.mapped(t, share) {
		t.Error("cleaning kept the mapping of a record without a link")
	}

	const other = `\\fs.emulated\other`
	check(t, "staging", shares.Stage(ctx, other, targetOf("a"), credentials))
	check(t, "staging another", shares.Stage(ctx, other, targetOf("b"), credentials))
	check(t, "removing a link", m.Remove(ctx, targetOf("b")))
	check(t, "unstaging", shares.Unstage(ctx, targetOf("a")))
	if n.mapped(t, other) {
		t.Error("the mapping stayed for a record without a link")
	}
}

// TestMountRefs: the other paths of a volume are found, and no others.
func TestMountRefs(t *testing.T) {
	t.Parallel()
	n := startShares(t)
	ctx, m := t.Context(), n.seeing()
	pod := func(uid string) string {
		return `C:\var\lib\kubelet\pods\` + uid + `\volumes\kubernetes.io~csi\pv\mount`
	}
	check(t, "staging a disk", m.MountDisk(ctx, 1, targetOf("disk")))
	check(t, "staging another", m.MountDisk(ctx, 2, targetOf("other")))
	check(t, "staging a share", m.MountShare(ctx, `\\fs.emulated\share`, targetOf("share"), credentials))
	check(t, "staging another", m.MountShare(ctx, `\\fs.emulated\share\dir`, targetOf("dir"), credentials))
	check(t, "publishing", m.Mount(targetOf("disk"), pod("1"), "", nil))
	check(t, "publishing", m.Mount(targetOf("disk"), pod("2"), "", nil))
	check(t, "publishing", m.Mount(targetOf("share"), pod("3"), "", nil))
	for path, want := range map[string][]string{
		targetOf("disk"):  {targetOf("disk"), pod("1"), pod("2")},
		pod("2"):          {pod("2"), "C:" + targetOf("disk"), pod("1")},
		targetOf("share"): {targetOf("share"), pod("3")},
		pod("3"):          {pod("3"), "C:" + targetOf("share")},
		targetOf("other"): {targetOf("other")},
		targetOf("none"):  {},
	} {
		if got, err := m.GetMountRefs(path); err != nil || !slices.Equal(got, want) {
			t.Errorf("GetMountRefs(%s) = %q, %v, want %q", path, got, err, want)
		}
	}
}
