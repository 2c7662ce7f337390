// SPDX-License-Identifier: Apache-2.0

//go:build unix

package published

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// kubeletFiles is kubelet's directory on the machine of the test, with the links that the node's Windows shows. One
// directory cannot be listed.
type kubeletFiles struct {
	fs.ReadLinkFS
	node       *testnode.Node
	unreadable string
}

func (f kubeletFiles) ReadLink(name string) (string, error) {
	return f.node.Emulated.Readlink(node.KubeletDir + `\` + strings.ReplaceAll(name, "/", `\`))
}

// Lstat says of what is a link to Windows that it is one. It fails for a driver's socket, as after a crash of Windows.
func (f kubeletFiles) Lstat(name string) (fs.FileInfo, error) {
	if path.Ext(name) == ".sock" {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: errors.New("1920")}
	}
	info, err := f.ReadLinkFS.Lstat(name)
	if _, notALink := f.ReadLink(name); err == nil && notALink == nil {
		info = linkInfo{info}
	}
	return info, err
}

func (f kubeletFiles) Open(name string) (fs.File, error) {
	if name == f.unreadable {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return f.ReadLinkFS.Open(name)
}

type linkInfo struct{ fs.FileInfo }

func (linkInfo) Mode() fs.FileMode { return fs.ModeSymlink }

// TestMountRefs: the other paths of a volume are found, and no others. A name that cannot be read is an error.
func TestMountRefs(t *testing.T) {
	t.Parallel()
	const kubelet = node.KubeletDir
	n, m := start(t)
	ctx := t.Context()
	pod := func(uid string) string {
		return `C:\var\lib\kubelet\pods\` + uid + `\volumes\kubernetes.io~csi\pv\mount`
	}
	check(t, "staging a disk", m.FormatAndMount("1", targetOf("disk"), "", nil))
	check(t, "staging another", m.FormatAndMount("2", targetOf("other"), "", nil))
	check(t, "staging a share", m.StageShare(ctx, anyShare, targetOf("share"), credentials))
	check(t, "staging another", m.StageShare(ctx, anyShare+`\dir`, targetOf("dir"), credentials))
	check(t, "publishing", m.Publish(ctx, targetOf("disk"), pod("1")))
	check(t, "publishing", m.Publish(ctx, targetOf("disk"), pod("2")))
	check(t, "publishing", m.Publish(ctx, targetOf("share"), pod("3")))
	files := kubeletFiles{ReadLinkFS: os.DirFS(n.HostPath(kubelet)).(fs.ReadLinkFS), node: n}
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	check(t, "listening", err)
	defer func() { _ = listener.Close() }()
	check(t, "leaving a socket", os.Rename(socket, filepath.Join(n.HostPath(kubelet),
		"plugins", "kubernetes.io", "csi", "example", "csi.sock")))
	for path, want := range map[string][]string{
		targetOf("disk"):  {targetOf("disk"), pod("1"), pod("2")},
		pod("2"):          {pod("2"), "C:" + targetOf("disk"), pod("1")},
		targetOf("share"): {targetOf("share"), pod("3")},
		pod("3"):          {pod("3"), "C:" + targetOf("share")},
		targetOf("other"): {targetOf("other")},
		targetOf("none"):  {},
	} {
		if got, err := m.WithKubelet(kubelet, files).GetMountRefs(path); err != nil || !slices.Equal(got, want) {
			t.Errorf("GetMountRefs(%s) = %q, %v, want %q", path, got, err, want)
		}
	}
	files.unreadable = "plugins/kubernetes.io/csi/example"
	if _, err := m.WithKubelet(kubelet, files).GetMountRefs(pod("1")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("with a directory that cannot be listed: %v, want ErrPermission", err)
	}
	_, err = m.WithKubelet(kubelet, os.DirFS(filepath.Join(t.TempDir(), "elsewhere"))).GetMountRefs(pod("1"))
	for _, want := range []string{kubelet, "WithKubelet", "HostPath"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without the node's files: %v, want %s in it", err, want)
		}
	}
}

func targetOf(volume string) string {
	return `\var\lib\kubelet\plugins\kubernetes.io\csi\example\` + volume + `\globalmount`
}
