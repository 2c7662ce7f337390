// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

// crashCase is one change of a node that look sees.
type crashCase struct {
	name    string
	prepare func(t *testing.T, n *Node)
	change  func(n *Node) error
}

// An image that belongs to the user of the node, with a mark.
const (
	userMark   = "the user's data"
	userMarkAt = 5 << 20
)

func userImage(n *Node) string { return filepath.Join(filepath.Dir(n.dir), "user.img") }

// crashCases are what the control does, and what takes a disk and its files from one side to the other.
func crashCases() []crashCase {
	nothing := func(*testing.T, *Node) {}
	withFile := func(t *testing.T, n *Node) { writeOn(t, n, formatted(t, n, oneDrive), "it travels") }
	pulled := func(t *testing.T, n *Node) { withFile(t, n); detached(t, n, 1) }
	attach := func(n *Node) error {
		bundles, err := n.DetachedDisks()
		if err == nil {
			_, err = n.AttachDisk(bundle.Spec{BundlePath: bundles[0].BundlePath, LUNAuto: true})
		}
		return err
	}
	detach := func(n *Node) error { _, err := n.DetachDisk(1); return err }
	online := func(n *Node) error { return n.SetDiskOnline(3, true) }
	makeUserImage := func(t *testing.T, n *Node) {
		must(t, os.WriteFile(userImage(n), nil, 0o600))
		must(t, os.Truncate(userImage(n), 8<<20))
		f, err := os.OpenFile(userImage(n), os.O_RDWR, 0)
		must(t, err)
		_, err = f.WriteAt([]byte(userMark), userMarkAt)
		must(t, errors.Join(err, f.Close()))
	}
	attachUserImage := func(size setting.Size) func(n *Node) error {
		return func(n *Node) error {
			_, err := n.AttachDisk(bundle.Spec{ImagePath: userImage(n), SizeBytes: size, LUNAuto: true})
			return err
		}
	}
	copyOf := func(n *Node) string { return filepath.Join(n.dir, restoringDir) }
	saved := func(n *Node) string { return filepath.Join(filepath.Dir(n.dir), "saved") }
	return []crashCase{
		{"attach", nothing, func(n *Node) error {
			_, err := n.AttachDisk(bundle.Spec{SizeBytes: 8 << 20, LUNAuto: true})
			return err
		}},
		{"attach an image", makeUserImage, attachUserImage(0)},
		{"attach an image that grows", makeUserImage, attachUserImage(16 << 20)},
		{"grow a disk", nothing, func(n *Node) error { return n.GrowDisk(1, 128<<20) }},
		{"give a volume a letter", func(t *testing.T, n *Node) { formatted(t, n, oneDrive) },
			func(n *Node) error { return n.SetVolumeMountPoint(`E:\`, firstData(n).name()) }},
		{"add a share", nothing, func(n *Node) error { return n.AddSMBShare("fs.emulated", "more", nil) }},
		{"bring a clone online", func(t *testing.T, n *Node) {
			partition(t, n, oneDrive)
			clone := filepath.Join(t.TempDir(), "clone")
			must(t, n.host.CopyDir(filepath.Dir(n.disks[1].image.Path), clone))
			_, err := n.AttachDisk(bundle.Spec{ImagePath: filepath.Join(clone, filepath.Base(n.disks[1].image.Path)),
				LUNAuto: true, Offline: true})
			must(t, err)
		}, online},
		{"detach", withFile, detach},
		{"attach a bundle", pulled, attach},
		{"detach a bundle", func(t *testing.T, n *Node) { pulled(t, n); must(t, attach(n)) }, detach},
		{"attach a new bundle", nothing, func(n *Node) error {
			_, err := n.AttachDisk(bundle.Spec{SizeBytes: 8 << 20, LUNAuto: true,
				BundlePath: filepath.Join(n.dir, bundle.DisksDir, "new"+bundle.Suffix)})
			return err
		}},
		{"restore", func(t *testing.T, n *Node) {
			withFile(t, n)
			must(t, os.RemoveAll(saved(n)))
			must(t, n.Save(saved(n), false))
			writeOn(t, n, firstData(n).name(), "changed")
			must(t, n.SetSwitch("msr", "never"))
			must(t, n.PrepareRestore(saved(n)))
			// A start removes the copy. It is not made anew: its steps are many, and change nothing.
			must(t, os.Rename(copyOf(n), copyOf(n)+".kept"))
		}, func(n *Node) error {
			if os.Rename(copyOf(n)+".kept", copyOf(n)) != nil { // it is the second try
				if err := n.PrepareRestore(saved(n)); err != nil {
					return err
				}
			}
			return n.Restore()
		}},
		{"bring a bundle's clone online", func(t *testing.T, n *Node) {
			pulled(t, n)
			bundles, err := n.DetachedDisks()
			must(t, err)
			clone := filepath.Join(n.dir, bundle.DisksDir, "clone")
			must(t, n.host.CopyDir(bundles[0].BundlePath, clone))
			must(t, attach(n))
			if disk := attachedAs(t, n, bundle.Spec{BundlePath: clone, Offline: true}); disk != 3 {
				t.Fatalf("the clone is disk %d", disk)
			}
		}, online},
	}
}

func layoutOf(t *testing.T, n *Node, number uint32) win32.DriveLayout {
	return diskLayout(t, openDevice(t, n, fmt.Sprintf(`\\.\PhysicalDrive%d`, number), 0))
}

func ioctl(n *Node, path string, code uint32, in []byte) error {
	h, err := n.OpenDevice(path, readWrite)
	if err != nil {
		return err
	}
	defer h.Close()
	_, err = h.DeviceIoControl(code, in, make([]byte, 64))
	return err
}

func firstData(n *Node) *volume {
	for _, v := range n.disks.volumes() {
		if v.disk.record.Number == 1 {
			return v
		}
	}
	return nil
}
