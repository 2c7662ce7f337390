// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// TestDirectOpensOnlyWhereProved: a path is opened in one call only if the system refuses links on the way, and if the
// working directory is not a link and lies on the drive that Windows runs from. The answers are the same either way.
func TestDirectOpensOnlyWhereProved(t *testing.T) {
	for name, test := range map[string]struct {
		workingDir string
		prepare    func(t *testing.T, k *emulated.Node) // before the agent starts
		started    func(t *testing.T, k *emulated.Node)
		first      bool // the first call opens in one call
		later      bool // later ones do
	}{
		"as usual":   {workingDir: KubeletDir, first: true, later: true},
		"other case": {workingDir: `c:\VAR\lib\Kubelet`, first: true, later: true},
		"links are followed": {workingDir: KubeletDir,
			prepare: func(t *testing.T, k *emulated.Node) { set(t, k, "never") }},
		"no link is opened": {workingDir: KubeletDir,
			prepare: func(t *testing.T, k *emulated.Node) { set(t, k, "everywhere") }, first: true, later: true},
		"made after the start": {workingDir: `C:\late`,
			started: func(t *testing.T, k *emulated.Node) { newDirectory(t, k, `C:\late`) }, later: true},
		"behind a link": {workingDir: `C:\link`, prepare: func(t *testing.T, k *emulated.Node) {
			h := newDirectory(t, k, `C:\link`)
			point := win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_MOUNT_POINT, SubstituteName: `\??\` + KubeletDir}
			if _, err := h.DeviceIoControl(win32.FSCTL_SET_REPARSE_POINT, point.Bytes(), nil); err != nil {
				t.Fatal(err)
			}
		}},
		"on another drive": {workingDir: `E:\kubelet`},
	} {
		t.Run(name, func(t *testing.T) {
			scenario := emulated.DefaultScenario()
			scenario.Disks = append(scenario.Disks, emulated.DiskSpec{SizeBytes: 64 << 20, LUNAuto: true,
				Formatted: true, Letter: "E"})
			k, err := emulated.Open(t.TempDir(), emulated.Options{NoSync: true, Scenario: &scenario})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = k.Close() }()
			newDirectory(t, k, `E:\kubelet`)
			newDirectory(t, k, KubeletDir+`\pods\dir`)
			if test.prepare != nil {
				test.prepare(t, k)
			}
			direct := false
			n, err := New(k, Config{WorkingDirs: []string{test.workingDir},
				Interceptor: func(_ context.Context, call kernel.Call, do func() error) error {
					direct = direct || call.Function == "OpenFile" && strings.HasPrefix(call.Object, `\Device\`) &&
						strings.HasSuffix(call.Object, `\made`)
					return do()
				}})
			if err != nil {
				t.Fatal(err)
			}
			n.ProveDirectOpens(t.Context())
			if test.started != nil {
				test.started(t, k)
			}
			made := test.workingDir + `\made`
			for i, want := range []bool{test.first, test.later, test.later} {
				direct = false
				if err := n.Filesystem.Mkdir(t.Context(), made); err != nil {
					t.Errorf("call %d: %v", i, err)
				}
				if direct != want {
					t.Errorf("call %d: it opens in one call: %t, want %t", i, direct, want)
				}
			}
			if exists, err := n.Filesystem.PathExists(t.Context(), made); err != nil || !exists {
				t.Errorf("what was made is there: %t, %v", exists, err)
			}
			if err := n.Filesystem.Rmdir(t.Context(), made, false); err != nil {
				t.Error(err)
			}
			if exists, err := n.Filesystem.PathExists(t.Context(), made); err != nil || exists {
				t.Errorf("what was removed is there: %t, %v", exists, err)
			}
		})
	}
}

// TestProofLeavesNothing: what the agent makes to try the system is gone.
func TestProofLeavesNothing(t *testing.T) {
	for _, answer := range []string{"onTheWay", "never"} {
		k, err := emulated.Open(t.TempDir(), emulated.Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = k.Close() })
		set(t, k, answer)
		bare(t, k).ProveDirectOpens(t.Context())
		h, err := k.OpenFile(nil, `\\?\C:\Windows\Temp`, walk{}.how(win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
		if err != nil {
			t.Fatal(err)
		}
		left, err := (&leaf{Handle: h}).has(func(win32.DirectoryEntry) (bool, error) { return true, nil })
		if err != nil || left {
			t.Errorf("%s: something is left: %t, %v", answer, left, err)
		}
	}
}

func set(t *testing.T, k *emulated.Node, linksRefused string) {
	t.Helper()
	if err := k.SetSwitch("linksRefused", linksRefused); err != nil {
		t.Fatal(err)
	}
}

// newDirectory makes a directory, whose handle is closed when the test ends.
func newDirectory(t *testing.T, k *emulated.Node, path string) kernel.Handle {
	t.Helper()
	h, err := k.OpenFile(nil, `\\?\`+path, kernel.OpenHow{
		Access: openDirectory | win32.FILE_WRITE_ATTRIBUTES, Share: shareAll,
		Disposition: win32.FILE_CREATE, Options: win32.FILE_DIRECTORY_FILE,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// TestPathsThroughLinks: a path below a mount point or link is not tried at once again, until a walk finds a plain
// directory there.
func TestPathsThroughLinks(t *testing.T) {
	k, err := emulated.Open(t.TempDir(), emulated.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = k.Close() }()
	tried := 0
	n, err := New(k, Config{WorkingDirs: []string{KubeletDir}, Interceptor: func(_ context.Context, call kernel.Call,
		do func() error) error {
		if call.Function == "OpenFile" && strings.HasPrefix(call.Object, `\Device\`) &&
			strings.HasSuffix(call.Object, `\below`) {
			tried++
		}
		return do()
	}})
	if err != nil {
		t.Fatal(err)
	}
	n.ProveDirectOpens(t.Context())
	link := newDirectory(t, k, KubeletDir+`\pods\link`)
	newDirectory(t, k, KubeletDir+`\plugins\below`)
	point := win32.ReparsePoint{Tag: win32.IO_REPARSE_TAG_MOUNT_POINT, SubstituteName: `\??\` + KubeletDir + `\plugins`}
	if _, err := link.DeviceIoControl(win32.FSCTL_SET_REPARSE_POINT, point.Bytes(), nil); err != nil {
		t.Fatal(err)
	}
	exists := func(path string, want bool, tries int) {
		t.Helper()
		tried = 0
		if got, err := n.Filesystem.PathExists(t.Context(), KubeletDir+path); err != nil || got != want || tried != tries {
			t.Errorf("%s: %t, %v after %d tries to open it at once; want %t after %d", path, got, err, tried, want, tries)
		}
	}
	exists(`\pods\link\below`, true, 1)
	exists(`\pods\LINK\below`, true, 0)
	exists(`\pods\below`, false, 1)
	if _, err := link.DeviceIoControl(win32.FSCTL_DELETE_REPARSE_POINT,
		win32.DeleteReparsePoint(win32.IO_REPARSE_TAG_MOUNT_POINT), nil); err != nil {
		t.Fatal(err)
	}
	exists(`\pods\link\below`, false, 0)
	exists(`\pods\link\below`, false, 1)
}
