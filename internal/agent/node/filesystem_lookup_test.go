// SPDX-License-Identifier: Apache-2.0

package node

import (
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
)

// TestLookingUp: a working directory may lie on another volume, and behind a link that the operator made. The same path
// of another volume is another one.
func TestLookingUp(t *testing.T) {
	scenario := scenario.Default()
	scenario.Disks = append(scenario.Disks, bundle.Spec{SizeBytes: 64 << 20, LUNAuto: true, Formatted: true,
		Letter: "E"})
	k := emulate(t, emulated.Options{Scenario: &scenario})
	n := newNode(t, k, Config{WorkingDirs: []string{KubeletDir, `E:\kubelet`, `E:\behind`}})
	must(t, by(t.Context(), n).Mkdir(KubeletDir+`\pods`))
	for _, path := range []string{`E:\kubelet`, `E:\kubelet\dir`, `E:\var`, `E:\var\lib`, `E:\var\lib\kubelet`,
		`E:\var\lib\kubelet\dir`} {
		newDirectory(t, k, path)
	}
	must(t, reparse.Plant(k, `E:\behind`, reparse.Junction(`E:\kubelet`)))
	const link, twin = KubeletDir + `\pods\link`, KubeletDir + `\pods\twin`
	must(t, reparse.Plant(k, link, reparse.Junction(`E:\kubelet`)))
	must(t, reparse.Plant(k, twin, reparse.Junction(`E:\var\lib\kubelet`)))
	for path, reason := range map[string]string{
		`E:\kubelet\dir`: "", `E:\behind\dir`: "", link + `\dir`: "", twin + `\dir`: reason.LinkRefused,
	} {
		exists, err := by(t.Context(), n).PathExists(path)
		if exists != (reason == "") || (err != nil) == exists || err != nil && !errdefs.HasReason(err, reason) {
			t.Errorf("%s: %t, %v", path, exists, err)
		}
	}
}

// Whatever makes or removes something, or hands a name to Windows, is walked: no kernel call names more than one
// component below an open directory.
func TestChangesAreWalked(t *testing.T) {
	k := emulate(t, emulated.Options{})
	n := bare(t, oneName{k, t})
	n.EnablePrivileges(t.Context())
	const dir, link = KubeletDir + `\pods\dir\below`, KubeletDir + `\pods\dir\link`
	for name, change := range map[string]func() error{
		"Mkdir":         func() error { return by(t.Context(), n).Mkdir(dir) },
		"CreateSymlink": func() error { return by(t.Context(), n).CreateSymlink(dir, link) },
		"RmdirContents": func() error { return by(t.Context(), n).RmdirContents(dir) },
		"Rmdir":         func() error { return by(t.Context(), n).Rmdir(dir, true) },
	} {
		must(t, by(t.Context(), n).Mkdir(dir))
		if err := change(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// oneName fails the test when a file is opened by more than one name.
type oneName struct {
	*emulated.Node
	t *testing.T
}

func (k oneName) OpenFile(dir kernel.Handle, name string, how kernel.OpenOptions) (kernel.Handle, error) {
	if dir != nil && strings.Contains(name, `\`) {
		k.t.Errorf("%s is opened at once", name)
	}
	return k.Node.OpenFile(dir, name, how)
}

// newDirectory makes a directory, whose handle is closed when the test ends.
func newDirectory(t *testing.T, k *emulated.Node, path string) kernel.Handle {
	t.Helper()
	h, err := k.OpenFile(nil, `\\?\`+path, kernel.OpenOptions{
		Access: winfs.OpenDirectory | win32.FILE_WRITE_ATTRIBUTES, Share: winfs.ShareAll,
		Disposition: win32.FILE_CREATE, Options: win32.FILE_DIRECTORY_FILE,
	})
	must(t, err)
	t.Cleanup(func() { _ = h.Close() })
	return h
}
