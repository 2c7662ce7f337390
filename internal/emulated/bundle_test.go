// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

// written attaches a small disk to a node, formats it and writes a file to it. It returns the disk's number and its
// volume.
func written(t *testing.T, n *Node, text string) (number uint32, volume string) {
	t.Helper()
	number, err := n.AttachDisk(bundle.Spec{
		SizeBytes: 32 << 20, SerialNumber: "vol-1", SectorSize: 4096, LUNAuto: true, BusType: win32.BusTypeNvme,
		Identifiers: setting.Identifiers{{CodeSet: win32.StorageIdCodeSetAscii, Type: deviceside.StorageIdTypeVendorId,
			Identifier: []byte("EMULATED vol-1")}},
	})
	must(t, err)
	volume = formatted(t, n, devicePath(number))
	writeOn(t, n, volume, text)
	return number, volume
}

func devicePath(number uint32) string { return fmt.Sprintf(`\\.\PhysicalDrive%d`, number) }

func writeOn(t *testing.T, n *Node, volume, text string) {
	t.Helper()
	must(t, os.WriteFile(hostPath(t, n, volume+"file"), []byte(text), 0o600))
}

func wantOn(t *testing.T, n *Node, volume, want string) {
	t.Helper()
	got, err := os.ReadFile(hostPath(t, n, volume+"file"))
	if err != nil || string(got) != want {
		t.Errorf("the file has %q, %v, want %q", got, err, want)
	}
}

func attachedAs(t *testing.T, n *Node, spec bundle.Spec) uint32 {
	t.Helper()
	spec.LUNAuto = true
	number, err := n.AttachDisk(spec)
	must(t, err)
	return number
}

func detached(t *testing.T, n *Node, number uint32) string {
	t.Helper()
	image, err := n.DetachDisk(number)
	must(t, err)
	return image
}

// A disk goes from node to node with its files, its identity and its sectors. It is attached to one of them at a time,
// even while that node's agent is stopped.
func TestDiskMovesBetweenNodes(t *testing.T) {
	a, b := newNode(t, nil), newNode(t, nil)
	number, v := written(t, a, "of a")
	identifiers := a.disks[number].record.Identifiers
	image := detached(t, a, number)
	home := filepath.Dir(image)
	refused := func(n *Node, why string, want error) {
		t.Helper()
		if _, err := n.AttachDisk(bundle.Spec{BundlePath: home, LUNAuto: true}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", why, err, want)
		}
	}
	number = attachedAs(t, a, bundle.Spec{BundlePath: home})
	refused(b, "attached to a", bundle.ErrAttachedElsewhere)
	refused(a, "a second time", bundle.ErrInvalid)
	must(t, a.Close())
	refused(b, "a is not running", bundle.ErrAttachedElsewhere)
	a = openNode(t, a.dir, Options{})
	detached(t, a, number)
	number = attachedAs(t, b, bundle.Spec{ImagePath: image})
	wantOn(t, b, v, "of a")
	if r := b.disks[number].record; r.SerialNumber != "vol-1" || r.SectorSize != 4096 || r.BusType != win32.BusTypeNvme ||
		!reflect.DeepEqual(r.Identifiers, identifiers) {
		t.Errorf("it arrives as %+v", r)
	}
	writeOn(t, b, v, "of b")
	refused(a, "attached to b", bundle.ErrAttachedElsewhere)
	must(t, b.Close())
	must(t, os.RemoveAll(b.dir)) // a node that is gone holds nothing
	attachedAs(t, a, bundle.Spec{BundlePath: home})
	wantOn(t, a, v, "of b")
}

// A copy of a bundle is a clone: beside the original it gets an identity of its own and keeps its files.
func TestACloneKeepsItsFiles(t *testing.T) {
	for _, test := range []struct {
		name    string
		offline bool
	}{{"at its arrival", false}, {"when it comes online", true}} {
		t.Run(test.name, func(t *testing.T) {
			n := newNode(t, nil)
			number, v := written(t, n, "original")
			home := filepath.Dir(detached(t, n, number))
			clone := filepath.Join(t.TempDir(), "clone")
			must(t, os.CopyFS(clone, os.DirFS(home)))
			attachedAs(t, n, bundle.Spec{BundlePath: home})
			number = attachedAs(t, n, bundle.Spec{BundlePath: clone, Offline: test.offline})
			must(t, n.SetDiskReadOnly(number, false))
			must(t, n.SetDiskOnline(number, true))
			own := n.disks[number].volumes[0].name()
			if own == v {
				t.Fatal("two volumes have one id")
			}
			writeOn(t, n, v, "changed")
			wantOn(t, n, own, "original")
			detached(t, n, number)
			wantOn(t, n, v, "changed")
		})
	}
}

// A copy of an image, without its bundle, has the original's tables and none of its files.
func TestCopiedImageHasNoFiles(t *testing.T) {
	n := newNode(t, nil)
	number, v := written(t, n, "original")
	content, err := os.ReadFile(n.disks[number].image.Path)
	must(t, err)
	copied := filepath.Join(n.dir, "copied")
	must(t, os.WriteFile(copied, content, 0o600))
	detached(t, n, attachedAs(t, n, bundle.Spec{ImagePath: copied, Offline: true, SectorSize: 4096}))
	wantOn(t, n, v, "original")
}

// A state directory with an attached bundle can be moved, and an image that is cut off is refused.
func TestDamagedBundleIsRefused(t *testing.T) {
	n := newNode(t, nil)
	number, v := written(t, n, "kept")
	image := detached(t, n, number)
	attachedAs(t, n, bundle.Spec{ImagePath: image})
	must(t, n.Close())
	moved := filepath.Join(t.TempDir(), "moved")
	must(t, os.Rename(n.dir, moved))
	n = openNode(t, moved, Options{})
	wantOn(t, n, v, "kept")
	image = detached(t, n, number)
	must(t, os.Truncate(image, 16<<20))
	if _, err := n.AttachDisk(bundle.Spec{ImagePath: image}); !errors.Is(err, bundle.ErrInvalid) ||
		!strings.Contains(err.Error(), "cut off") {
		t.Errorf("a shorter image: %v", err)
	}
	if _, err := n.AttachDisk(bundle.Spec{BundlePath: filepath.Join(moved, "none")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no bundle: %v", err)
	}
	if _, err := n.AttachDisk(bundle.Spec{BundlePath: moved}); !errors.Is(err, bundle.ErrInvalid) {
		t.Errorf("not a bundle: %v", err)
	}
}

// A saved node has copies of its bundles, which it attaches when it starts, and names none outside its directory.
func TestBundlesOfASavedNode(t *testing.T) {
	n := newNode(t, nil)
	attachedAs(t, n, bundle.Spec{SizeBytes: 32 << 20, BundlePath: filepath.Join(t.TempDir(), "vol-1")})
	saved := filepath.Join(t.TempDir(), "saved")
	must(t, n.Save(saved, false))
	s, err := loadState(saved)
	must(t, err)
	record := s.Disks[len(s.Disks)-1]
	number := attachedAs(t, openNode(t, t.TempDir(), Options{}), bundle.Spec{BundlePath: record.Home(saved)})
	if number != 3 {
		t.Errorf("the copy is disk %d", number)
	}
	s.Disks[len(s.Disks)-1].Bundle = filepath.Join("..", record.Bundle)
	text, err := encodeState(s)
	must(t, err)
	if _, err := decodeState(text); err == nil {
		t.Error("a bundle outside the directory was accepted by a relative path")
	}
}
