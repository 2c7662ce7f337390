// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

// userImage returns the path of an image that belongs to the user of the node.
func userImage(n *Node) string { return filepath.Join(filepath.Dir(n.dir), "user.img") }

const userMark = "the user's data"

// makeUserImage makes that image.
func makeUserImage(t *testing.T, n *Node) {
	t.Helper()
	_ = os.Remove(userImage(n)) // of a node that was made beside this one
	must(t, os.WriteFile(userImage(n), nil, 0o600))
	must(t, os.Truncate(userImage(n), 8<<20))
}

// attachUserImage writes to the image, which the user does not make durable, and attaches it.
func attachUserImage(n *Node, size setting.Size) error {
	f, err := os.OpenFile(userImage(n), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(userMark), 5<<20)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	_, err = n.AttachDisk(bundle.Spec{ImagePath: userImage(n), SizeBytes: size, LUNAuto: true})
	return err
}

// checkUserImage returns "new" if a copy of the image is a disk of the size. The image itself never changes.
func checkUserImage(t *testing.T, n *Node, size int64) string {
	t.Helper()
	d, attached := n.disks[3]
	path, want := userImage(n), int64(8<<20)
	if info, err := os.Stat(path); err != nil || info.Size() != want {
		t.Errorf("the image itself: %v, %v", info, err)
	}
	if attached {
		path, want = d.image.Path, size
	}
	info, err := os.Stat(path)
	must(t, err)
	mark := make([]byte, len(userMark))
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	_, err = f.ReadAt(mark, 5<<20)
	must(t, err)
	// Content that was not flushed may be lost until the attach has answered.
	if info.Size() != want || attached && string(mark) != userMark {
		t.Errorf("%s has %d bytes, want %d; the mark is %q", path, info.Size(), want, mark)
	}
	return oldOrNew(attached)
}

// hostCases are changes that consist mostly of operations of the host.
func hostCases() []crashCase {
	nothing := func(*testing.T, *Node) {}
	object := func(t *testing.T, n *Node) {
		must(t, openAndClose(n, win32.FILE_CREATE, win32.FILE_NON_DIRECTORY_FILE))
	}
	return []crashCase{
		{
			"attach an image", makeUserImage,
			func(n *Node) error { return attachUserImage(n, 0) },
			func(t *testing.T, n *Node) string { return checkUserImage(t, n, 8<<20) },
		},
		{
			"attach an image that grows", makeUserImage,
			func(n *Node) error { return attachUserImage(n, 16<<20) },
			func(t *testing.T, n *Node) string { return checkUserImage(t, n, 16<<20) },
		},
		{
			"grow a disk", nothing,
			func(n *Node) error { return n.GrowDisk(1, 128<<20) },
			func(_ *testing.T, n *Node) string { return oldOrNew(n.disks[1].image.Size == 128<<20) },
		},
		{
			"take a disk offline", nothing,
			func(n *Node) error { return n.SetDiskOnline(1, false) },
			func(_ *testing.T, n *Node) string { return oldOrNew(n.disks[1].record.Offline) },
		},
		{
			"give a volume a letter", func(t *testing.T, n *Node) { formatted(t, n, oneDrive) },
			func(n *Node) error { return n.SetVolumeMountPoint(`E:\`, firstData(n).name()) },
			func(_ *testing.T, n *Node) string { return oldOrNew(len(n.state.Letters) == 2) },
		},
		{
			"make a file read-only", object,
			opened(crashObject, win32.FILE_WRITE_ATTRIBUTES, func(h kernel.Handle) error {
				return h.SetInformation(win32.FileBasicInfo, win32.FileBasic{Attributes: win32.FILE_ATTRIBUTE_READONLY}.Bytes())
			}),
			func(t *testing.T, n *Node) string {
				h := openFile(t, n, `\\?\`+crashObject, how(win32.FILE_READ_ATTRIBUTES, win32.FILE_OPEN, 0))
				defer h.Close()
				return oldOrNew(attributes(t, h).Attributes&win32.FILE_ATTRIBUTE_READONLY != 0)
			},
		},
		{
			"turn a mount point into a directory", func(t *testing.T, n *Node) { mounted(t, n, crashDir) },
			opened(crashDir, win32.FILE_WRITE_ATTRIBUTES, func(h kernel.Handle) error {
				_, err := h.DeviceIoControl(win32.FSCTL_DELETE_REPARSE_POINT,
					win32.DeleteReparsePoint(win32.IO_REPARSE_TAG_MOUNT_POINT), nil)
				return err
			}),
			func(_ *testing.T, n *Node) string {
				_, err := n.VolumeNameForMountPoint(crashDir + `\`)
				return oldOrNew(err != nil)
			},
		},
		{
			"add a share", nothing,
			func(n *Node) error { return n.AddSMBShare("fs.emulated", "more", nil) },
			func(t *testing.T, n *Node) string {
				added := n.state.SMB.Server("fs.emulated").Share("more") != nil
				if _, err := os.Stat(smb.SharePath(n.dir, "fs.emulated", "more")); added && err != nil {
					t.Error(err)
				}
				return oldOrNew(added)
			},
		},
		{
			"log in to a target again", func(t *testing.T, n *Node) {
				discovered(t, n)
				must(t, n.LogoutISCSITarget(logIn(t, n, openLogin())))
			},
			func(n *Node) error { _, err := n.LoginISCSITarget(openLogin()); return err },
			func(t *testing.T, n *Node) string { return oldOrNew(sessionAndDisk(t, n)) },
		},
	}
}
