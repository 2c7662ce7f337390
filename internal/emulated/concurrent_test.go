// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ntpath"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ondisk"
)

// Everything at once, under the race detector; afterwards the node is intact. The result of each call depends on the
// others.
func TestConcurrentUse(t *testing.T) {
	dir := t.TempDir()
	n := openNode(t, dir, Options{Scenario: smallScenario()})
	for _, d := range []string{`C:\w0`, `C:\w1`, `C:\w2`} {
		mkdir(t, n, d)
	}
	check := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	var wg sync.WaitGroup
	for worker := range 3 {
		wg.Go(func() {
			for round := range 15 {
				number, err := n.AttachDisk(bundle.Spec{SizeBytes: 64 << 20, LUNAuto: true})
				if err != nil {
					t.Error(err)
					return
				}
				path := fmt.Sprintf(`\\.\PhysicalDrive%d`, number)
				check(ioctl(n, path, win32.IOCTL_DISK_CREATE_DISK, win32.CreateDisk{Style: 1}.Bytes()))
				l := win32.DriveLayout{Style: 1,
					Partitions: []win32.Partition{{Style: 1, StartingOffset: 16 << 20, Length: 32 << 20,
						Type: win32.PartitionBasicData, ID: ondisk.NewGUID()}}}
				check(ioctl(n, path, win32.IOCTL_DISK_SET_DRIVE_LAYOUT_EX, l.Bytes()))
				v := ntpath.VolumeName(l.Partitions[0].ID)
				mount := fmt.Sprintf(`C:\w%d\`, worker)
				check(n.FormatVolume(v, "NTFS"))
				check(n.SetVolumeMountPoint(mount, v))
				h, err := n.OpenFile(nil, `\\?\`+mount+`f`, how(anyRight, win32.FILE_CREATE, win32.FILE_DIRECTORY_FILE))
				if check(err); err == nil {
					check(h.Close())
				}
				if round%3 == 0 {
					check(n.SetDiskOnline(number, false))
					check(n.SetDiskOnline(number, true))
				}
				check(n.DeleteVolumeMountPoint(mount))
				_, err = n.DetachDisk(number)
				check(err)
			}
		})
	}
	wg.Go(func() {
		for range 200 {
			_, _ = n.VolumeNames()
			disks, _ := n.DiskInterfaces()
			for _, d := range disks {
				_ = ioctl(n, d, win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, nil)
			}
			_, _ = n.HostPath(`C:\w1\f`)
			if volume, err := n.VolumeNameForMountPoint(`C:\w2\`); err == nil {
				_, _, _ = n.DiskFreeSpace(volume)
			}
		}
	})
	wg.Wait()
	must(t, n.Close())
	n = openNode(t, dir, Options{})
	if len(n.disks.list()) != 3 || len(n.state.Mounts) != 0 {
		t.Errorf("%d disks, mounts %v", len(n.disks.list()), n.state.Mounts)
	}
}

// A restart or the end may come in the middle of any call: it fails or succeeds, and nothing is half done.
func TestRebootDuringUse(t *testing.T) {
	dir := t.TempDir()
	n := openNode(t, dir, Options{Scenario: smallScenario()})
	v := formatted(t, n, oneDrive)
	mkdir(t, n, `C:\m`)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 50 {
				_ = n.SetVolumeMountPoint(`C:\m\`, v)
				if h, err := n.OpenFile(nil, `\\?\C:\m\x`,
					how(anyRight, win32.FILE_OPEN_IF, win32.FILE_DIRECTORY_FILE)); err == nil {
					_ = h.Information(win32.FileFullDirectoryInfo, make([]byte, 500))
					_ = h.Close()
				}
				_ = ioctl(n, v[:len(v)-1], win32.FSCTL_LOCK_VOLUME, nil)
				_ = n.DeleteVolumeMountPoint(`C:\m\`)
			}
		})
	}
	for range 50 {
		must(t, n.Reboot())
	}
	must(t, n.Close())
	wg.Wait()
	n = openNode(t, dir, Options{})
	_, err := n.VolumeNameForMountPoint(`C:\m\`)
	paths, _ := n.VolumePathNames(v)
	if (err == nil) != (len(paths) == 1) {
		t.Errorf("mount point: %v, records: %q", err, paths)
	}
}

// A directory below which something is open keeps its path. So the path of an open file leads to it, though names are
// looked up while others rename what they lie in.
func TestOpeningWhileItsDirectoryIsRenamed(t *testing.T) {
	if onWine() {
		t.Skip("require volume serial numbers of open files: Wine looks for them at the path that a file was opened by")
	}
	n := newNode(t, nil)
	mkdir(t, n, `C:\a\below`)
	root := openFile(t, n, `\\?\C:\`, how(anyRight, win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
	var openers sync.WaitGroup
	var over atomic.Bool
	opened := 0
	openers.Go(func() {
		defer over.Store(true)
		for opened < 300 && !t.Failed() {
			for _, path := range []string{`\\?\C:\a\below`, `\\?\C:\b\below`} {
				h, err := n.OpenFile(nil, path, how(anyRight, win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
				if err != nil {
					continue // it has the other name
				}
				opened++
				final, err := h.FinalPath(win32.VOLUME_NAME_DOS)
				if err != nil {
					t.Error(err)
				}
				again, err := n.OpenFile(nil, final, how(anyRight, win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
				if err != nil {
					t.Errorf("%s is open by its path %s, which leads nowhere: %v", path, final, err)
				} else {
					_ = again.Close()
				}
				_ = h.Close()
			}
		}
	})
	renamed := 0
	for names := [2]string{"a", "b"}; !over.Load(); {
		h, err := n.OpenFile(root, names[0], how(anyRight, win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
		must(t, err)
		if h.Rename(root, names[1]) == nil {
			names[0], names[1] = names[1], names[0]
			renamed++
		}
		must(t, h.Close())
	}
	openers.Wait()
	t.Logf("opened %d times, renamed %d times in %s", opened, renamed, filepath.Base(n.dir))
}
