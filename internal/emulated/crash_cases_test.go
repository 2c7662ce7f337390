// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/gpt"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ondisk"
)

const (
	crashDir  = `C:\var\lib\kubelet\pods\p`
	crashLink = `C:\var\lib\kubelet\pods\l`

	crashObject = `C:\var\lib\kubelet\pods\o`
)

// crashCase is one change of the node. After a death at any point and a new start, check must find the state before or
// after the change: it returns "old" or "new", or fails the test.
type crashCase struct {
	name    string
	prepare func(t *testing.T, n *Node)
	change  func(n *Node) error
	check   func(t *testing.T, n *Node) string
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
		if v.disk.number == 1 {
			return v
		}
	}
	return nil
}

// crashCases returns the cases, with -short a third of them: a change is made by one goroutine.
func crashCases() []crashCase {
	all := slices.Concat(storageCases(), hostCases(), bundleCrashCases())
	if !testing.Short() {
		return all
	}
	var some []crashCase
	for i := 0; i < len(all); i += 3 {
		some = append(some, all[i])
	}
	return some
}

func oldOrNew(isNew bool) string {
	if isNew {
		return "new"
	}
	return "old"
}

const oneDrive = `\\.\PhysicalDrive1`

// checkNTFS checks that all blocks of the file system are there: the boot sector, its copy and the MFT.
func checkNTFS(t *testing.T, v *volume) {
	t.Helper()
	sector := v.disk.sectorSize()
	boot, backup, mft := make([]byte, sector), make([]byte, sector), ondisk.NewNTFS(sector, 0, v.length)[1].Data
	record := make([]byte, len(mft))
	for b, at := range map[*[]byte]int64{&boot: 0, &backup: int64(v.boot.Sectors) * sector,
		&record: int64(v.boot.MFTCluster) * ondisk.ClusterSize} {
		_, err := v.disk.image.File.ReadAt(*b, v.offset+at)
		must(t, err)
	}
	if !bytes.Equal(boot, backup) || !bytes.Equal(record, mft) {
		t.Error("the copy of the boot sector is another, or the MFT is not there")
	}
}

// openAndClose opens an object in a directory that every node has.
func openAndClose(n *Node, disposition, options uint32) error {
	h, err := n.OpenFile(nil, `\\?\`+crashObject, how(anyRight, disposition, options))
	if err != nil {
		return err
	}
	return h.Close()
}

// opened returns a change of what is at a path, by a handle with the access.
func opened(path string, access uint32, change func(h kernel.Handle) error) func(n *Node) error {
	return func(n *Node) error {
		h, err := n.OpenFile(nil, `\\?\`+path, how(access, win32.FILE_OPEN, win32.FILE_OPEN_REPARSE_POINT))
		if err != nil {
			return err
		}
		defer h.Close()
		return change(h)
	}
}

// checkObject returns "new" if that object is there, or is not.
func checkObject(there bool) func(t *testing.T, n *Node) string {
	return func(t *testing.T, n *Node) string {
		host, err := n.HostPath(crashObject)
		must(t, err)
		_, err = os.Lstat(host)
		return oldOrNew(there == (err == nil))
	}
}

func storageCases() []crashCase {
	var serial uint64
	nothing := func(*testing.T, *Node) {}
	atCrashDir := func(t *testing.T, n *Node) { mounted(t, n, crashDir) }
	checkMount := func(t *testing.T, n *Node) bool {
		v := firstData(n)
		name, err := n.VolumeNameForMountPoint(crashDir + `\`)
		paths, pathsErr := n.VolumePathNames(v.name())
		must(t, pathsErr)
		isMounted := err == nil && name == v.name()
		if !isMounted {
			wantCode(t, "what is not mounted", err, win32.ERROR_NOT_A_REPARSE_POINT)
		}
		if isMounted != slices.Contains(paths, crashDir+`\`) {
			t.Errorf("mount point: %v, records: %q", isMounted, paths)
		}
		return isMounted
	}
	return []crashCase{
		{
			"create a GPT", nothing,
			func(n *Node) error {
				return ioctl(n, oneDrive, win32.IOCTL_DISK_CREATE_DISK,
					win32.CreateDisk{Style: win32.PARTITION_STYLE_GPT, MaxPartitionCount: 128}.Bytes())
			},
			func(t *testing.T, n *Node) string {
				l := layoutOf(t, n, 1)
				if l.Style == win32.PARTITION_STYLE_GPT && len(l.Partitions) != 1 {
					t.Errorf("partitions: %v", l.Partitions)
				}
				return oldOrNew(l.Style == win32.PARTITION_STYLE_GPT)
			},
		},
		{
			"set a layout",
			func(t *testing.T, n *Node) {
				must(t, ioctl(n, oneDrive, win32.IOCTL_DISK_CREATE_DISK,
					win32.CreateDisk{Style: win32.PARTITION_STYLE_GPT}.Bytes()))
			},
			func(n *Node) error {
				d := n.disks[1]
				l, _, err := win32.PlanDataPartition(d.layout.DriveLayout(), 0, func() (guid.GUID, error) { return gpt.NewGUID(), nil })
				return errors.Join(err, ioctl(n, oneDrive, win32.IOCTL_DISK_SET_DRIVE_LAYOUT_EX, l.Bytes()))
			},
			func(t *testing.T, n *Node) string { return oldOrNew(len(layoutOf(t, n, 1).Partitions) == 2) },
		},
		{
			"refresh the table of a grown disk",
			func(t *testing.T, n *Node) { partition(t, n, oneDrive); must(t, n.GrowDisk(1, 128<<20)) },
			func(n *Node) error {
				return errors.Join(ioctl(n, oneDrive, win32.IOCTL_DISK_UPDATE_DRIVE_SIZE, nil),
					ioctl(n, oneDrive, win32.IOCTL_DISK_UPDATE_PROPERTIES, nil))
			},
			func(t *testing.T, n *Node) string {
				isNew := layoutOf(t, n, 1).UsableLength > 100<<20
				// sgdisk complains about a grown disk until the table is refreshed.
				must(t, ioctl(n, oneDrive, win32.IOCTL_DISK_UPDATE_PROPERTIES, nil))
				return oldOrNew(isNew)
			},
		},
		{
			"format",
			func(t *testing.T, n *Node) {
				formatted(t, n, oneDrive)
				serial = firstData(n).boot.Serial
				c, err := n.content(firstData(n), nil)
				must(t, err)
				must(t, os.WriteFile(filepath.Join(c.root.Name(), "file"), []byte("x"), 0o600))
			},
			func(n *Node) error { return n.FormatVolume(firstData(n).name(), "NTFS") },
			func(t *testing.T, n *Node) string {
				v := firstData(n)
				_, err := os.Stat(filepath.Join(v.disk.image.Files(v.id), "file"))
				isOld := v.boot.Serial == serial
				if !isOld && err == nil || !v.formatted() {
					t.Errorf("old file system: %v, its file: %v", isOld, err)
				}
				return oldOrNew(!isOld)
			},
		},
		{
			"grow partition and file system",
			func(t *testing.T, n *Node) {
				formatted(t, n, oneDrive)
				must(t, n.GrowDisk(1, 128<<20))
				must(t, ioctl(n, oneDrive, win32.IOCTL_DISK_UPDATE_DRIVE_SIZE, nil))
				must(t, ioctl(n, oneDrive, win32.IOCTL_DISK_UPDATE_PROPERTIES, nil))
			},
			func(n *Node) error {
				v := firstData(n)
				if err := ioctl(n, oneDrive, win32.IOCTL_DISK_GROW_PARTITION,
					win32.GrowPartition{Number: 2, BytesToGrow: 16 << 20}.Bytes()); err != nil {
					return err
				}
				return ioctl(n, strings.TrimSuffix(v.name(), `\`), win32.FSCTL_EXTEND_VOLUME,
					win32.ExtendVolume((v.length+16<<20)/512))
			},
			func(t *testing.T, n *Node) string {
				v := firstData(n)
				sectors := uint64(v.length/512) - 1
				if v.boot.Sectors != sectors && v.boot.Sectors != sectors-16<<11 {
					t.Errorf("file system of %d sectors in %d", v.boot.Sectors, sectors+1)
				}
				return oldOrNew(v.boot.Sectors == sectors && v.length > 60<<20)
			},
		},
		{
			"mount", func(t *testing.T, n *Node) { formatted(t, n, oneDrive); mkdir(t, n, crashDir) },
			func(n *Node) error { return n.SetVolumeMountPoint(crashDir+`\`, firstData(n).name()) },
			func(t *testing.T, n *Node) string { return oldOrNew(checkMount(t, n)) },
		},
		{
			"unmount", atCrashDir,
			func(n *Node) error { return n.DeleteVolumeMountPoint(crashDir + `\`) },
			func(t *testing.T, n *Node) string { return oldOrNew(!checkMount(t, n)) },
		},
		{
			"delete a link", func(t *testing.T, n *Node) { link(t, n, crashLink, symlink(`C:\Windows`)) },
			opened(crashLink, win32.DELETE, erase),
			func(t *testing.T, n *Node) string {
				target, err := n.Readlink(crashLink)
				if err != nil {
					wantCode(t, "deleted link", err, win32.ERROR_FILE_NOT_FOUND)
				} else if target != `C:\Windows` {
					t.Errorf("link to %s", target)
				}
				parent := openFile(t, n, `\\?\C:\var\lib\kubelet\pods`, how(anyRight, win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
				if names := list(t, parent); (err == nil) != slices.Contains(names, "l") {
					t.Errorf("listed: %q, link: %v", names, err)
				}
				return oldOrNew(err != nil)
			},
		},
		{
			"move a directory", func(t *testing.T, n *Node) { mkdir(t, n, crashDir+`\a\b`) },
			func(n *Node) error {
				d, err := n.OpenFile(nil, `\\?\`+crashDir,
					how(win32.FILE_LIST_DIRECTORY, win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
				if err != nil {
					return err
				}
				defer d.Close()
				return opened(crashDir+`\a\b`, win32.DELETE, func(h kernel.Handle) error { return h.Rename(d, "up") })(n)
			},
			func(t *testing.T, n *Node) string {
				_, errOld := os.Stat(hostPath(t, n, crashDir+`\a\b`))
				_, errNew := os.Stat(hostPath(t, n, crashDir+`\up`))
				if (errOld == nil) == (errNew == nil) {
					t.Errorf("at its old place: %v, at its new one: %v", errOld, errNew)
				}
				return oldOrNew(errNew == nil)
			},
		},
		{
			"make a link", func(t *testing.T, n *Node) { mkdir(t, n, crashLink) },
			opened(crashLink, win32.FILE_WRITE_ATTRIBUTES, func(h kernel.Handle) error {
				_, err := h.DeviceIoControl(win32.FSCTL_SET_REPARSE_POINT, symlink(`C:\Windows`).Bytes(), nil)
				return err
			}),
			func(t *testing.T, n *Node) string {
				target, err := n.Readlink(crashLink)
				if err != nil {
					wantCode(t, "link that was not made", err, win32.ERROR_NOT_A_REPARSE_POINT)
				} else if target != `C:\Windows` {
					t.Errorf("link to %s", target)
				}
				return oldOrNew(err == nil)
			},
		},
		{
			"make a directory", nothing,
			func(n *Node) error { return openAndClose(n, win32.FILE_CREATE, win32.FILE_DIRECTORY_FILE) },
			checkObject(true),
		},
		{
			"make a file", nothing,
			func(n *Node) error { return openAndClose(n, win32.FILE_CREATE, win32.FILE_NON_DIRECTORY_FILE) },
			checkObject(true),
		},
		{
			"remove a file",
			func(t *testing.T, n *Node) {
				must(t, openAndClose(n, win32.FILE_CREATE, win32.FILE_NON_DIRECTORY_FILE))
			},
			opened(crashObject, win32.DELETE, erase),
			checkObject(false),
		},
		{
			"attach", nothing,
			func(n *Node) error {
				_, err := n.AttachDisk(bundle.Spec{SizeBytes: 8 << 20, LUNAuto: true})
				return err
			},
			func(_ *testing.T, n *Node) string { return oldOrNew(len(n.disks.list()) == 4) },
		},
		{
			"log in to a target", discovered,
			func(n *Node) error { _, err := n.LoginISCSITarget(openLogin()); return err },
			func(t *testing.T, n *Node) string { return oldOrNew(sessionAndDisk(t, n)) },
		},
		{
			"log out of a target", func(t *testing.T, n *Node) { discovered(t, n); logIn(t, n, openLogin()) },
			func(n *Node) error { return n.LogoutISCSITarget(n.state.ISCSI.Sessions[0].UniqueID()) },
			func(t *testing.T, n *Node) string { return oldOrNew(!sessionAndDisk(t, n)) },
		},
		{
			"start a service", nothing,
			func(n *Node) error { return n.StartService("Spooler") },
			func(_ *testing.T, n *Node) string {
				s, err := n.QueryService("spooler")
				return oldOrNew(err == nil && s.State == win32.SERVICE_START_PENDING)
			},
		},
		{
			"bring a clone online",
			func(t *testing.T, n *Node) {
				partition(t, n, oneDrive)
				clone := filepath.Join(t.TempDir(), "clone")
				d := n.disks[1]
				bytes, err := os.ReadFile(d.image.Path)
				must(t, err)
				f, err := os.Create(clone)
				must(t, err)
				for _, at := range []int{0, len(bytes) - 1<<20} { // the tables; all between is zero
					_, err = f.WriteAt(bytes[at:at+1<<20], int64(at))
					must(t, err)
				}
				must(t, f.Close())
				_, err = n.AttachDisk(bundle.Spec{ImagePath: clone, LUNAuto: true, Offline: true})
				must(t, err)
			},
			func(n *Node) error { return n.SetDiskOnline(3, true) },
			func(t *testing.T, n *Node) string {
				d := n.disks[3]
				one, clone := layoutOf(t, n, 1), layoutOf(t, n, 3)
				if !d.record.Offline && (one.DiskID == clone.DiskID || one.Partitions[1].ID == clone.Partitions[1].ID) {
					t.Error("two disks with one identity are online")
				}
				return oldOrNew(!d.record.Offline)
			},
		},
	}
}
