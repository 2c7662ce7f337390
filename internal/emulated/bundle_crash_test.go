// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

// bundleCrashCases are the changes by which a disk and its files go from one side to the other. Wherever the process
// dies, they are together on one side.
func bundleCrashCases() []crashCase {
	var (
		id   guid.GUID
		disk uint32

		saved string
	)
	copyOf := func(n *Node) string { return filepath.Join(n.dir, restoringDir) }
	const text = "it travels"
	withFile := func(t *testing.T, n *Node) {
		v := formatted(t, n, oneDrive)
		id = firstData(n).id
		writeOn(t, n, v, text)
	}
	// inside fails the test unless a directory of volumes has the file.
	inside := func(t *testing.T, volume string) {
		t.Helper()
		if got, err := os.ReadFile(filepath.Join(volume, "file")); err != nil || string(got) != text {
			t.Errorf("its file: %q, %v", got, err)
		}
	}
	theBundle := func(t *testing.T, n *Node) string {
		t.Helper()
		bundles, err := n.DetachedDisks()
		must(t, err)
		if len(bundles) != 1 {
			t.Fatalf("detached bundles: %v", bundles)
		}
		return bundles[0].Bundle
	}
	inBundle := func(t *testing.T, n *Node) {
		t.Helper()
		home := theBundle(t, n)
		inside(t, bundle.FilesPath(home, id))
		if info, err := bundle.ReadInfo(home); err != nil || info.SerialNumber != "one" {
			t.Errorf("%+v, %v", info, err)
		}
		if image, err := os.Stat(filepath.Join(home, bundle.ImageFile)); err != nil || image.Size() != 64<<20 {
			t.Errorf("its image: %v, %v", image, err)
		}
	}
	// there returns whether the disk is attached, and looks for its file where it is.
	there := func(t *testing.T, n *Node) bool {
		t.Helper()
		if v, ok := n.disks.volume(id); ok {
			inside(t, v.disk.image.Files(id))
			return true
		}
		inBundle(t, n)
		return false
	}
	pulled := func(t *testing.T, n *Node) { withFile(t, n); detached(t, n, 1) }
	attach := func(n *Node) error {
		bundles, err := n.DetachedDisks()
		if err == nil {
			_, err = n.AttachDisk(bundle.Spec{BundlePath: bundles[0].Bundle, LUNAuto: true})
		}
		return err
	}
	return []crashCase{
		{
			"detach", withFile,
			func(n *Node) error { _, err := n.DetachDisk(1); return err },
			func(t *testing.T, n *Node) string { return oldOrNew(!there(t, n)) },
		},
		{
			"attach a bundle", pulled, attach,
			func(t *testing.T, n *Node) string { return oldOrNew(there(t, n)) },
		},
		{
			"detach a bundle", func(t *testing.T, n *Node) { pulled(t, n); must(t, attach(n)) },
			func(n *Node) error { _, err := n.DetachDisk(1); return err },
			func(t *testing.T, n *Node) string { return oldOrNew(!there(t, n)) },
		},
		{
			"attach a new bundle", func(*testing.T, *Node) {},
			func(n *Node) error {
				_, err := n.AttachDisk(bundle.Spec{SizeBytes: 8 << 20,
					BundlePath: filepath.Join(n.dir, bundle.DisksDir, "new"+bundle.Suffix), LUNAuto: true})
				return err
			},
			func(t *testing.T, n *Node) string {
				home := filepath.Join(n.dir, bundle.DisksDir, "new"+bundle.Suffix)
				if _, err := os.Stat(home); err == nil && len(n.disks.list()) == 3 { // it is whole, and a retry attaches it
					detached(t, n, attachedAs(t, n, bundle.Spec{BundlePath: home}))
				}
				return oldOrNew(len(n.disks.list()) == 4)
			},
		},
		{
			"restore",
			func(t *testing.T, n *Node) {
				withFile(t, n)
				saved = filepath.Join(t.TempDir(), "saved")
				must(t, n.Save(saved, false))
				writeOn(t, n, firstData(n).name(), "changed")
				must(t, n.SetSwitch("msr", "never"))
				must(t, n.PrepareRestore(saved))
				// A start removes the copy. It is not made anew: its steps are many, and change nothing.
				must(t, os.Rename(copyOf(n), copyOf(n)+".kept"))
			},
			func(n *Node) error {
				if os.Rename(copyOf(n)+".kept", copyOf(n)) != nil { // it is the second try
					if err := n.PrepareRestore(saved); err != nil {
						return err
					}
				}
				return n.Restore()
			},
			func(t *testing.T, n *Node) string {
				v := firstData(n)
				got, err := os.ReadFile(filepath.Join(v.disk.image.Files(v.id), "file"))
				must(t, err)
				if isNew := string(got) == text; isNew != (n.state.Switches.MSR == scenario.MSRImmediate) {
					t.Errorf("the file of one node, %q, and the state of another", got)
				}
				return oldOrNew(string(got) == text)
			},
		},
		{
			"bring a bundle's clone online",
			func(t *testing.T, n *Node) {
				pulled(t, n)
				home := theBundle(t, n)
				clone := filepath.Join(n.dir, bundle.DisksDir, "clone")
				must(t, n.host.CopyDir(home, clone))
				must(t, attach(n))
				disk = attachedAs(t, n, bundle.Spec{BundlePath: clone, Offline: true})
			},
			func(n *Node) error { return n.SetDiskOnline(disk, true) },
			func(t *testing.T, n *Node) string {
				d := n.disks[disk]
				own := d.layout.VolumePartitions()[0].ID
				inside(t, d.image.Files(own))
				if !d.record.Offline && own == id {
					t.Error("two volumes with one identity are online")
				}
				return oldOrNew(!d.record.Offline)
			},
		},
	}
}
