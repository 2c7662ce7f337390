// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

// busyNode is a node with a disk of its own, a bundle that lies elsewhere and a detached one, each with a file.
func busyNode(t *testing.T) (n *Node, own, elsewhere, home string) {
	t.Helper()
	n = openNode(t, t.TempDir(), Options{Scenario: smallScenario()})
	number, _ := written(t, n, "detached")
	detached(t, n, number)
	own = formatted(t, n, oneDrive)
	writeOn(t, n, own, "own")
	home = filepath.Join(t.TempDir(), "vol-1")
	number = attachedAs(t, n, bundle.Spec{SizeBytes: 32 << 20, BundlePath: home})
	elsewhere = formatted(t, n, devicePath(number))
	writeOn(t, n, elsewhere, "elsewhere")
	mkdir(t, n, crashDir)
	must(t, n.SetVolumeMountPoint(crashDir+`\`, own))
	return n, own, elsewhere, home
}

// A copy that does not open as a node is refused while the node goes on.
func TestRestoreOfABrokenCopy(t *testing.T) {
	n, own, elsewhere, _ := busyNode(t)
	image := n.disks[1].image.File.Name()
	name := func(saved string) string { return filepath.Join(saved, strings.TrimPrefix(image, n.dir)) }
	for what, spoil := range map[string]func(saved string) error{
		"a truncated disk": func(saved string) error { return os.Truncate(name(saved), 1<<20) },
		"an empty disk":    func(saved string) error { return os.Truncate(name(saved), 0) },
		"a missing disk":   func(saved string) error { return os.Remove(name(saved)) },
		"a disk that is a directory": func(saved string) error {
			return errors.Join(os.Remove(name(saved)), os.Mkdir(name(saved), 0o700))
		},
		"no files of a disk": func(saved string) error { return os.RemoveAll(filepath.Dir(name(saved))) },
		"no disks":           func(saved string) error { return os.RemoveAll(filepath.Join(saved, bundle.DisksDir)) },
		"no files of a mounted volume": func(saved string) error {
			return os.RemoveAll(filepath.Join(filepath.Dir(name(saved)), bundle.VolumesDir, n.disks[1].volumes[0].ID.String()))
		},
		"no files of drive C": func(saved string) error {
			return os.RemoveAll(filepath.Join(saved, bundle.FilesPath(n.disks[0].record.Home(""), n.state.Letters[0].Volume)))
		},
		"no shares": func(saved string) error { return os.RemoveAll(filepath.Join(saved, smb.SharesDir)) },
		"no files of a share": func(saved string) error {
			server := n.state.SMB.Servers[0]
			return os.RemoveAll(smb.SharePath(saved, server.Name, server.Shares[0].Name))
		},
		"a file in place of a share": func(saved string) error {
			server := n.state.SMB.Servers[0]
			share := smb.SharePath(saved, server.Name, server.Shares[0].Name)
			return errors.Join(os.RemoveAll(share), os.WriteFile(share, nil, 0o600))
		},
		"half a node.json": func(saved string) error { return os.Truncate(filepath.Join(saved, stateFile), 100) },
	} {
		saved := filepath.Join(t.TempDir(), "saved")
		must(t, n.Save(saved, false))
		must(t, spoil(saved))
		if err := n.PrepareRestore(saved); err == nil {
			t.Errorf("%s: the copy is taken", what)
			must(t, n.Restore())
		}
		if err := n.Restore(); err == nil {
			t.Errorf("%s: restored", what)
		}
		wantOn(t, n, own, "own")
		wantOn(t, n, elsewhere, "elsewhere")
		checkImages(t, n)
	}
	must(t, n.Close())
	n = openNode(t, n.dir, Options{})
	wantOn(t, n, own, "own")
}

// The copy of a node with a mounted volume without files is complete.
func TestRestoreOfAnUnusedVolume(t *testing.T) {
	s := smallScenario()
	s.Switches.AutomountOff = true
	s.Disks[0].Formatted = true
	n := openNode(t, t.TempDir(), Options{Scenario: s})
	mkdir(t, n, crashDir)
	must(t, n.SetVolumeMountPoint(crashDir+`\`, n.disks[1].volumes[0].name()))
	saved := filepath.Join(t.TempDir(), "saved")
	must(t, n.Save(saved, false))
	must(t, n.PrepareRestore(saved))
}

// A copy parts of which are links is refused before anything is changed, here and where the links lead.
func TestLinksInACopyAreRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("require links: only an administrator may make them there")
	}
	n, own, elsewhere, _ := busyNode(t)
	d, server := n.disks[1], n.state.SMB.Servers[0]
	for _, part := range []string{
		bundle.DisksDir, bundle.DiskHome(d.record.Image),
		filepath.Join(bundle.DiskHome(d.record.Image), bundle.ImageFile),
		filepath.Join(bundle.DiskHome(d.record.Image), bundle.VolumesDir),
		bundle.FilesPath(bundle.DiskHome(d.record.Image), d.volumes[0].ID),
		smb.SharesDir, filepath.Join(smb.SharesDir, server.Name), smb.SharePath("", server.Name, server.Shares[0].Name),
		RecordsDir,
	} {
		saved := filepath.Join(t.TempDir(), "saved")
		must(t, n.Save(saved, false))
		outside := filepath.Join(t.TempDir(), "outside")
		at := filepath.Join(saved, part)
		must(t, errors.Join(os.Rename(at, outside), os.Symlink(outside, at)))
		before := fileList(t, outside)
		damaged := new(*hostfiles.DamagedError)
		if err := n.PrepareRestore(saved); !errors.As(err, damaged) || (*damaged).File != at {
			t.Errorf("%s: %v", part, err)
		}
		if other, err := Open(saved, Options{}); !errors.As(err, damaged) || (*damaged).File != at {
			t.Errorf("a start with %s: %v", part, err)
			_ = other.Close()
		}
		if diff := cmp.Diff(before, fileList(t, outside)); diff != "" {
			t.Errorf("%s: what the link leads to was changed (-before +after):\n%s", part, diff)
		}
	}
	wantOn(t, n, own, "own")
	wantOn(t, n, elsewhere, "elsewhere")
}

// A node is saved while it runs; the copy goes on as it was, whatever happens to the original.
func TestSavedNode(t *testing.T) {
	n, own, elsewhere, home := busyNode(t)
	planted := filepath.Join(hostPath(t, n, own), "planted")
	// where users may not, and Wine has none
	if err := os.Symlink("/nowhere", planted); err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	saved := filepath.Join(t.TempDir(), "saved")
	must(t, n.Save(saved, false))
	for path, want := range map[string]fs.FileMode{"": 0o700, stateFile: 0o600} {
		if info, err := os.Stat(filepath.Join(saved, path)); err != nil || info.Mode().Perm() != want &&
			runtime.GOOS != "windows" {
			t.Errorf("%q of the saved node: %v, %v, want the mode %v", path, info.Mode(), err, want)
		}
	}
	if err := n.Save(saved, false); err == nil {
		t.Error("saved over a saved node")
	}
	if err := n.Save(filepath.Join(n.dir, bundle.DisksDir, "saved"), false); !errdefs.HasReason(err, "INVALID_ARGUMENT") {
		t.Errorf("saved into itself: %v", err)
	}
	writeOn(t, n, own, "changed")
	writeOn(t, n, elsewhere, "changed")

	again := openNode(t, saved, Options{}) // while the original has the bundle attached
	checkImages(t, again)
	wantOn(t, again, own, "own")
	wantOn(t, again, elsewhere, "elsewhere")
	want, _ := os.Readlink(planted)
	if got, err := os.Readlink(filepath.Join(hostPath(t, again, own), "planted")); got != want {
		t.Errorf("the host's link: %q, %v, want %q", got, err, want)
	}
	if name, err := again.VolumeNameForMountPoint(crashDir + `\`); name != own {
		t.Errorf("mounted: %s, %v", name, err)
	}
	if again.state.SystemSerial != n.state.SystemSerial {
		t.Error("a saved node is another machine")
	}
	if bundles, err := again.DetachedDisks(); err != nil || len(bundles) != 1 {
		t.Errorf("its detached disks: %v, %v", bundles, err)
	}
	if err := n.PrepareRestore(saved); err == nil {
		t.Error("restored a node that runs")
	}
	must(t, again.Close())
	must(t, os.RemoveAll(filepath.Join(saved, RecordsDir))) // what keeps no empty directories, as git, loses it
	must(t, n.PrepareRestore(saved))
	must(t, n.Restore())
	wantOn(t, n, own, "own")
	wantOn(t, n, elsewhere, "elsewhere")
	// the restored node has its clone
	number := attachedAs(t, openNode(t, t.TempDir(), Options{}), bundle.Spec{BundlePath: home})
	if number != 3 {
		t.Errorf("disk %d", number)
	}
	must(t, n.Close())
	n = openNode(t, n.dir, Options{})
	wantOn(t, n, own, "own")
}

// A clone is a machine of its own, with disks that are twins of the original's.
func TestClonedNode(t *testing.T) {
	n, own, _, _ := busyNode(t)
	saved := filepath.Join(t.TempDir(), "clone")
	must(t, n.Save(saved, true))
	clone := openNode(t, saved, Options{})
	if clone.state.SystemSerial == n.state.SystemSerial || clone.state.SystemSerial == "" {
		t.Errorf("the clone has the serial number %q, like the original", clone.state.SystemSerial)
	}
	wantOn(t, clone, own, "own") // by the same id
	// When the twins meet, one gets another identity, and keeps its files.
	writeOn(t, clone, own, "of the clone")
	twin := attachedAs(t, n, bundle.Spec{ImagePath: detached(t, clone, 1)})
	must(t, n.SetDiskReadOnly(twin, false))
	must(t, n.SetDiskOnline(twin, true))
	other := n.disks[twin].volumes[0].name()
	if other == own {
		t.Fatal("twins have one id")
	}
	wantOn(t, n, own, "own")
	wantOn(t, n, other, "of the clone")
}

func TestInvalidSavedNodeIsRefused(t *testing.T) {
	n := openNode(t, t.TempDir(), Options{Scenario: smallScenario()})
	missing := filepath.Join(t.TempDir(), "nowhere")
	for _, name := range []string{t.TempDir(), n.dir, "relative"} {
		if err := n.PrepareRestore(name); !errdefs.HasReason(err, "INVALID_ARGUMENT") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := n.PrepareRestore(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}
