// SPDX-License-Identifier: Apache-2.0

package published

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	mount "k8s.io/mount-utils"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

// Paths as kubelet gives them to a driver: the one without a drive, the other with slashes.
const (
	staging = `\var\lib\kubelet\plugins\kubernetes.io\csi\example\globalmount`
	publish = `c:/var/lib/kubelet/pods/1234/volumes/kubernetes.io~csi/pv/mount`
	serial  = "vol0123456789abcdef1"
)

// start returns a mounter on a new emulated node.
func start(t *testing.T) (*csiproxytest.Node, *mounter.Mounter) {
	t.Helper()
	n := csiproxytest.Start(t, csiproxytest.Options{})
	return n, mounter.New(n.Client())
}

func check(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// TestVolumeLife is a driver's whole work on a disk, each step twice.
func TestVolumeLife(t *testing.T) {
	n, m := start(t)
	ctx := t.Context()
	disk, err := m.WaitForDisk(ctx, mounter.BySerialNumber(serial))
	check(t, "waiting for the disk", err)

	for range 2 {
		check(t, "staging", m.MountDisk(ctx, disk.Number, staging))
		check(t, "publishing", m.Mount(staging, publish, "", []string{"ro"}))
	}
	n.WriteFile(staging+`\data`, "precious")
	for _, path := range []string{staging, publish} {
		if is, err := m.IsMountPoint(path); !is || err != nil {
			t.Errorf("IsMountPoint(%s) = %v, %v, want true", path, is, err)
		}
		if not, err := m.IsLikelyNotMountPoint(path); not || err != nil {
			t.Errorf("IsLikelyNotMountPoint(%s) = %v, %v, want false", path, not, err)
		}
	}

	before, err := m.Usage(ctx, publish)
	check(t, "usage", err)
	n.GrowDisk(disk.Number, 12<<30)
	after, err := m.Expand(ctx, publish)
	check(t, "expanding", err)
	if after < before.Total+2<<30-1<<20 || before.Available != before.Total-before.Used {
		t.Errorf("the volume had %+v and has %d bytes after its disk grew by 2 GiB", before, after)
	}

	for range 2 {
		check(t, "unpublishing", m.Unmount(publish))
		check(t, "unstaging", m.UnmountDevice(ctx, staging))
	}
	for _, path := range []string{staging, publish} {
		if _, err := m.IsMountPoint(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("IsMountPoint(%s) = %v afterwards, want fs.ErrNotExist", path, err)
		}
	}
	for _, d := range n.Tree().GetDisks() {
		if d.GetNumber() == disk.Number && d.GetOnline() {
			t.Error("the disk is still online after UnmountDevice")
		}
	}

	check(t, "staging anew", m.FormatAndMount("1", staging, "ntfs", nil))
	if got := n.ReadFile(staging + `\data`); got != "precious" {
		t.Errorf("the volume came back with %q", got)
	}
}

// TestUnmountKeepsContent: a directory with files in it is not a mount, and stays.
func TestUnmountKeepsContent(t *testing.T) {
	n, m := start(t)
	check(t, "staging", m.MountDisk(t.Context(), 1, staging))
	check(t, "unmounting", m.Unmount(staging))
	check(t, "staging", m.MountDisk(t.Context(), 1, staging))
	n.WriteFile(`C:\var\lib\kubelet\pods\file`, "precious")
	if err := m.Unmount(`C:\var\lib\kubelet\pods`); !errors.Is(err, csiproxy.ErrDirectoryNotEmpty) {
		t.Errorf("unmounting a directory with content: %v, want ErrDirectoryNotEmpty", err)
	}
	if got := n.ReadFile(`C:\var\lib\kubelet\pods\file`); got != "precious" {
		t.Errorf("the file holds %q", got)
	}
}

// TestMountReplaces: kubelet makes the target of a publish as a directory.
func TestMountReplaces(t *testing.T) {
	n, m := start(t)
	check(t, "staging", m.MountDisk(t.Context(), 1, staging))
	n.WriteFile(staging+`\data`, "precious")
	check(t, "making the target", m.Mount(`C:\var\lib\kubelet\plugins`, publish, "", nil))
	check(t, "publishing over it", m.Mount(staging, publish, "", nil))
	if got := n.ReadFile(publish + `\data`); got != "precious" {
		t.Errorf("the published volume holds %q", got)
	}
}

func TestMountRefusesADirectoryWithContent(t *testing.T) {
	n, m := start(t)
	check(t, "staging", m.MountDisk(t.Context(), 1, staging))
	check(t, "making the target", m.Mkdir(t.Context(), publish))
	n.WriteFile(publish+`\file`, "precious")
	if err := m.Mount(staging, publish, "", nil); !errors.Is(err, csiproxy.ErrDirectoryNotEmpty) {
		t.Errorf("publishing over a directory with content: %v, want ErrDirectoryNotEmpty", err)
	}
	if got := n.ReadFile(publish + `\file`); got != "precious" {
		t.Errorf("the file holds %q", got)
	}
}

// TestKubeletOfATestsNode: the files of the node's directory are elsewhere on this machine.
func TestKubeletOfATestsNode(t *testing.T) {
	const kubelet = csiproxytest.KubeletDir
	n, m := start(t)
	check(t, "staging", m.MountDisk(t.Context(), 1, staging))
	err := m.WithKubelet(kubelet, os.DirFS(filepath.Join(t.TempDir(), "elsewhere"))).UnmountDevice(t.Context(), staging)
	for _, want := range []string{kubelet, "WithKubelet", "HostPath"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("unstaging without the node's files: %v, want %s in it", err, want)
		}
	}
	check(t, "unstaging", m.WithKubelet(kubelet, os.DirFS(n.HostPath(kubelet))).UnmountDevice(t.Context(), staging))
}

// TestForeignDisk: a disk with existing content is never formatted.
func TestForeignDisk(t *testing.T) {
	_, m := start(t)
	check(t, "staging the first", m.MountDisk(t.Context(), 1, staging))
	if err := m.MountDisk(t.Context(), 2, staging); !errors.Is(err, csiproxy.ErrOtherVolumeMounted) {
		t.Errorf("staging another disk at the same place: %v, want ErrOtherVolumeMounted", err)
	}
	for name, call := range map[string]func() error{
		"no disk":        func() error { return m.FormatAndMount("77", publish, "", nil) },
		"no number":      func() error { return m.FormatAndMount("one", publish, "", nil) },
		"another system": func() error { return m.FormatAndMount("1", publish, "ext4", nil) },
		"format options": func() error {
			return m.FormatAndMountSensitiveWithFormatOptions("1", publish, "", nil, nil, []string{"/A:64K"})
		},
	} {
		if err := call(); err == nil {
			t.Errorf("%s: success", name)
		}
	}
}

// TestFindDisk: a disk is recognised by any of its identifiers, and two that match are told apart by the caller.
func TestFindDisk(t *testing.T) {
	_, m := start(t)
	for name, match := range map[string]mounter.Match{
		"serial":  mounter.BySerialNumber(strings.ToUpper(serial)),
		"lun":     mounter.ByLUN(1),
		"page 83": mounter.ByPage83("60022480454d552d4449534b30303031"),
	} {
		if d, err := m.FindDisk(t.Context(), match); err != nil || d.Number != 1 {
			t.Errorf("by %s: disk %d, %v, want 1", name, d.Number, err)
		}
	}
	if _, err := m.FindDisk(t.Context(), mounter.BySerialNumber("vol0123456789abcdef")); !errors.Is(err,
		mounter.ErrAmbiguous) {
		t.Errorf("two matches: %v, want ErrAmbiguous", err)
	}
}

// TestShare: a share is mapped with the options as every driver spells them.
func TestShare(t *testing.T) {
	n, m := start(t)
	for name, options := range map[string]struct{ plain, sensitive []string }{
		"names":       {nil, []string{"username=csi", "password=csi-password"}},
		"one option":  {[]string{"vers=3.0"}, []string{"username=csi,password=csi-password"}},
		"with domain": {[]string{"domain=EMULATED"}, []string{"username=csi", "password=csi-password"}},
		"positions":   {[]string{`AZURE\csi`}, []string{"csi-password"}},
	} {
		check(t, name, m.MountSensitive("//fs.emulated/share", publish, "cifs", options.plain, options.sensitive))
		n.WriteFile(publish+`\from`, name)
		if got := n.ReadFile(publish + `\from`); got != name {
			t.Errorf("%s: the share holds %q", name, got)
		}
		check(t, "unmapping", m.UnmapShare(t.Context(), `\\fs.emulated\share`))
		check(t, "unmounting", m.Unmount(publish))
	}

	err := m.MountSensitive(`\\fs.emulated\share`, publish, "", nil, []string{"username=csi", "password=hunter2"})
	if !errors.Is(err, csiproxy.ErrCredentials) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a wrong password: %v, want ErrCredentials and no password", err)
	}
}

// TestAsInterface: the mounter can take the place of mount.New in a driver.
func TestAsInterface(t *testing.T) {
	_, m := start(t)
	var i mount.Interface = m
	check(t, "staging", m.MountDisk(t.Context(), 1, staging))
	if refs, err := i.GetMountRefs(staging); err != nil || len(refs) != 1 {
		t.Errorf("GetMountRefs = %q, %v, want the path itself", refs, err)
	}
	if refs, err := i.GetMountRefs(publish); err != nil || len(refs) != 0 {
		t.Errorf("GetMountRefs of nothing = %q, %v, want none", refs, err)
	}
	check(t, "CleanupMountPoint", mount.CleanupMountPoint(staging, i, true))
}
