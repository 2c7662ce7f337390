// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/windows/registry"

	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// A fakeDisks is the fake of test/windows/fakes/disks, in the place of the two DLLs of Windows' through which a program
// meets it. Its README describes the files and the lines of control.txt.
type fakeDisks struct{ fakeFolder }

const (
	disksFolder = `C:\disks-fake`

	// hack/test-wine.sh has sgdisk judge the disks that are left in this folder.
	judgedFolder = `Z:\binaries\judged`
)

func disksOf(t *testing.T) *fakeDisks { return &fakeDisks{fakeFolder{t, disksFolder}} }

// installDisks installs the fake until the end of the test, for agents that start after it. The test fails if a call
// broke a rule of its page.
func installDisks(t *testing.T) *fakeDisks {
	t.Helper()
	requireWine(t, "disks of its own")
	dll, d := fakeDLL(t, "fake-disks.dll"), disksOf(t)
	err := os.Mkdir(disksFolder, 0o700)
	if err == nil {
		err = os.MkdirAll(judgedFolder, 0o700)
	}
	caller.OK(t, err)
	t.Cleanup(func() {
		d.end()
		if err := os.RemoveAll(disksFolder); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{"bcryptprimitives", "cfgmgr32"} {
		t.Cleanup(override(t, name))
		t.Cleanup(replace(t, `C:\windows\system32\`+name+".dll", dll))
	}
	return d
}

// installLinks gives the agents that start after it links and mounted folders: test/windows/fakes/links.
func (d *fakeDisks) installLinks() {
	d.t.Helper()
	caller.OK(d.t, os.WriteFile(filepath.Join(disksFolder, "links.dll"), fakeDLL(d.t, "fake-links.dll"), 0o600))
}

// override makes Wine take a DLL of the system's folder for csi-proxy.exe instead of its own.
func override(t *testing.T, name string) (undo func()) {
	t.Helper()
	k, _, err := registry.CreateKey(registry.CURRENT_USER,
		`Software\Wine\AppDefaults\csi-proxy.exe\DllOverrides`, registry.SET_VALUE)
	if err == nil {
		err = k.SetStringValue(name, "native")
	}
	caller.OK(t, err)
	return func() {
		if err := errors.Join(k.DeleteValue(name), k.Close()); err != nil {
			t.Error(err)
		}
	}
}

// replace puts a file in the place of another, and returns how to put that back.
func replace(t *testing.T, path string, content []byte) (undo func()) {
	t.Helper()
	kept := path + ".kept"
	err := os.Rename(path, kept)
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	caller.OK(t, err)
	return func() {
		if err := errors.Join(os.Remove(path), os.Rename(kept, path)); err != nil {
			t.Error(err)
		}
	}
}

// image returns the bytes of a disk from an offset.
func (d *fakeDisks) image(path string, offset int64, size int) []byte {
	d.t.Helper()
	f, err := os.Open(path)
	caller.OK(d.t, err)
	defer func() { _ = f.Close() }()
	b := make([]byte, size)
	if _, err := f.ReadAt(b, offset); err != nil {
		d.t.Fatal(err)
	}
	return b
}
