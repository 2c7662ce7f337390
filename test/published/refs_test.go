// SPDX-License-Identifier: Apache-2.0

//go:build unix

package published

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

// seeing returns a mounter that sees kubelet's directory.
func (n shareNode) seeing() *mounter.Mounter {
	return mounter.New(n.Client()).WithKubelet(csiproxytest.KubeletDir,
		kubeletFiles{os.DirFS(n.HostPath(csiproxytest.KubeletDir)).(fs.ReadLinkFS), n})
}

// kubeletFiles is kubelet's directory on the machine of the test, with the links that the node's Windows shows.
type kubeletFiles struct {
	fs.ReadLinkFS
	node shareNode
}

func (f kubeletFiles) ReadLink(name string) (string, error) {
	return f.node.emulated.Readlink(csiproxytest.KubeletDir + `\` + strings.ReplaceAll(name, "/", `\`))
}

// Lstat says of what is a link to Windows that it is one.
func (f kubeletFiles) Lstat(name string) (fs.FileInfo, error) {
	info, err := f.ReadLinkFS.Lstat(name)
	if _, notALink := f.ReadLink(name); err == nil && notALink == nil {
		info = linkInfo{info}
	}
	return info, err
}

type linkInfo struct{ fs.FileInfo }

func (linkInfo) Mode() fs.FileMode { return fs.ModeSymlink }

// unreadable is kubelet's directory, one directory of which cannot be listed.
type unreadable struct {
	kubeletFiles
	dir string
}

func (u unreadable) Open(name string) (fs.File, error) {
	if name == u.dir {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return u.kubeletFiles.Open(name)
}

// TestShareWithUnknownUsersStaysMapped: a mapping is not removed while its users are unknown, and the directory of
// records may have any name.
func TestShareWithUnknownUsersStaysMapped(t *testing.T) {
	t.Parallel()
	n := startShares(t)
	n.records = filepath.Join(t.TempDir(), "csi[smb]")
	ctx := t.Context()
	const share = `\\fs.emulated\share`
	files := kubeletFiles{os.DirFS(n.HostPath(csiproxytest.KubeletDir)).(fs.ReadLinkFS), n}
	check(t, "staging", n.shares().Stage(ctx, share, targetOf("a"), credentials))
	check(t, "staging another", n.shares().Stage(ctx, share, targetOf("b"), credentials))
	check(t, "unstaging", n.shares().Unstage(ctx, targetOf("a")))
	if !n.mapped(t, share) {
		t.Fatal("the mapping was removed under a volume with a record")
	}
	blind := mounter.New(n.Client()).WithKubelet(csiproxytest.KubeletDir,
		unreadable{files, "plugins/kubernetes.io/csi/example"}).Shares(n.records)
	check(t, "staging", n.shares().Stage(ctx, share, targetOf("a"), credentials))
	check(t, "unstaging", n.shares().Unstage(ctx, targetOf("b")))
	check(t, "staging without a record", mounter.New(n.Client()).MountShare(ctx, share, targetOf("c"), credentials))
	if err := blind.Unstage(ctx, targetOf("a")); !errors.Is(err, fs.ErrPermission) || !n.mapped(t, share) {
		t.Errorf("unstaging where kubelet's directory cannot be listed: %v; mapped: %t", err, n.mapped(t, share))
	}
	check(t, "unstaging again", n.seeing().Shares(n.records).Unstage(ctx, targetOf("a")))
	if !n.mapped(t, share) {
		t.Error("the mapping was removed under a link")
	}
}

// TestSharesAfterAMistake: a volume whose first share does not exist can be staged with another one, although kubelet
// has made its directory, and a name that is no share's leaves nothing behind.
func TestSharesAfterAMistake(t *testing.T) {
	t.Parallel()
	n := startShares(t)
	ctx := t.Context()
	for _, wrong := range []string{`\\fs.emulated\typo`, `\\fs.emulated\a|b`} {
		if err := n.shares().Stage(ctx, wrong, targetOf("a"), credentials); err == nil {
			t.Fatalf("%s was staged", wrong)
		}
		_, err := n.Filesystem.Mkdir(ctx, &filesystemapi.MkdirRequest{Path: targetOf("a")})
		check(t, "making kubelet's directory", err)
	}
	check(t, "staging the right share", n.shares().Stage(ctx, `\\fs.emulated\share`, targetOf("a"), credentials))
	check(t, "unstaging", n.shares().Unstage(ctx, targetOf("a")))
	if left, _ := filepath.Glob(filepath.Join(n.records, "*.json")); len(left) > 0 || n.mapped(t, `\\fs.emulated\share`) {
		t.Errorf("records %q stayed; mapped: %t", left, n.mapped(t, `\\fs.emulated\share`))
	}
}

// TestUnmountDeviceOfADiskInUse: a disk stays online while its volume is mounted elsewhere, and when only a link to it
// goes.
func TestUnmountDeviceOfADiskInUse(t *testing.T) {
	t.Parallel()
	n := startShares(t)
	ctx, m := t.Context(), n.seeing()
	online := func() bool {
		state, err := n.Disk.GetDiskState(ctx, &diskapi.GetDiskStateRequest{DiskNumber: 1})
		check(t, "asking for the disk's state", err)
		return state.GetIsOnline()
	}
	for _, volume := range []string{"a", "b"} {
		check(t, "staging", m.MountDisk(ctx, 1, targetOf(volume)))
	}
	check(t, "publishing", m.Mount(targetOf("a"), publish, "", nil))
	check(t, "unmounting a link", m.UnmountDevice(ctx, publish))
	if !online() {
		t.Error("the disk went offline with a link")
	}
	check(t, "unmounting the first", m.UnmountDevice(ctx, targetOf("a")))
	if !online() {
		t.Error("the disk went offline under another mount point")
	}
	check(t, "unmounting the last", m.UnmountDevice(ctx, targetOf("b")))
	if online() {
		t.Error("the disk stayed online")
	}
}

// TestSharesUsers: a record without its link is not a user, and a link without a record is one where kubelet's
// directory is seen.
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
