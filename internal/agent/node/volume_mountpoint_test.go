// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
)

const (
	leafParent = KubeletDir + `\pods\uid\volumes`
	leafPath   = leafParent + `\mount`
)

// withVolumes is a node whose disks 1 and 2 have the volumes. Its functions object to the handle that holds a directory,
// with a sharing violation, or they do not.
func withVolumes(t *testing.T, object bool, around func(k *emulated.Node, call kernel.Call, do func() error) error) (
	n *Node, k *emulated.Node, volumes []string) {
	t.Helper()
	s := scenario.Default()
	s.Switches.MountPointCallsDelete = object
	k = emulate(t, emulated.Options{Scenario: &s})
	n = newNode(t, k, Config{Interceptor: func(_ context.Context, call kernel.Call, do func() error) error {
		return around(k, call, do)
	}})
	for _, disk := range []uint32{1, 2} {
		err := by(t.Context(), n).SetDiskState(disk, true)
		if err == nil {
			err = by(t.Context(), n).PartitionDisk(disk)
		}
		must(t, err)
		ids, err := by(t.Context(), n).ListVolumesOnDisk(disk)
		if err == nil {
			err = by(t.Context(), n).FormatVolume(ids[0])
		}
		must(t, err)
		volumes = append(volumes, ids[0])
	}
	return n, k, volumes
}

// removals unmount a volume from leafPath.
func removals(n *Node, volume string) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"UnmountVolume": func(ctx context.Context) error { return by(ctx, n).UnmountVolume(volume, leafPath) },
		"Rmdir":         func(ctx context.Context) error { return by(ctx, n).Rmdir(leafPath, false) },
		"Rmdir a tree":  func(ctx context.Context) error { return by(ctx, n).Rmdir(leafParent, true) },
		"RmdirContents": func(ctx context.Context) error { return by(ctx, n).RmdirContents(KubeletDir + `\pods`) },
	}
}

func openFor(k *emulated.Node, path string, access uint32) (kernel.Handle, error) {
	return k.OpenFile(nil, `\\?\`+path, kernel.OpenOptions{Access: access, Share: winfs.ShareAll,
		Disposition: win32.FILE_OPEN,
		Options:     win32.FILE_OPEN_REPARSE_POINT})
}

// wantPinned checks that no part of a path can be removed or renamed.
func wantPinned(t *testing.T, k *emulated.Node, when, path string) {
	t.Helper()
	for ; len(path) > len(KubeletDir); path = path[:strings.LastIndex(path, `\`)] {
		if _, err := openFor(k, path, win32.DELETE); !errors.Is(err, win32.ERROR_SHARING_VIOLATION) {
			t.Errorf("%s: %s can be opened for deletion: %v", when, path, err)
		}
	}
}

// If Windows takes the handle that holds a directory for a sharing violation, everything works all the same, after half
// a second: a volume is mounted with the way held alone, and a mount point is removed by the handle that holds it.
func TestMountPointsAreNotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deleted := 0
		n, k, volumes := withVolumes(t, true, func(k *emulated.Node, call kernel.Call, do func() error) error {
			err := do()
			if call.Code == win32.FSCTL_DELETE_REPARSE_POINT {
				deleted++
			}
			if call.Function == "SetVolumeMountPoint" || call.Function == "DeleteVolumeMountPoint" {
				wantPinned(t, k, call.Function, leafParent)
			}
			return err
		})
		begin := time.Now()
		listed := func(want int) {
			t.Helper()
			if paths, err := k.VolumePathNames(volumes[0]); err != nil || len(paths) != want {
				t.Errorf("the mount manager lists %q, %v, want %d", paths, err, want)
			}
		}
		for name, remove := range removals(n, volumes[0]) {
			if err := by(t.Context(), n).MountVolume(volumes[0], leafPath); err != nil {
				t.Errorf("MountVolume: %v", err)
			}
			listed(1)
			if err := remove(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			listed(0)
		}
		if waited := time.Since(begin); waited > 8*600*time.Millisecond {
			t.Errorf("waited %v", waited)
		}
		if deleted != 4 {
			t.Errorf("%d mount points were removed by their handle, want each", deleted)
		}
	})
}

// A scanner that has the directory open is waited for. Windows' function does it all, and meanwhile no part of the path
// can be removed or renamed, the mount point itself included.
func TestMountPointsThatAScannerHasOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := map[string]int{}
		n, k, volumes := withVolumes(t, false, func(k *emulated.Node, call kernel.Call, do func() error) error {
			switch {
			case call.Code == win32.FSCTL_DELETE_REPARSE_POINT:
				t.Errorf("%s is removed by its handle", call.Object)
			case call.Function == "SetVolumeMountPoint" || call.Function == "DeleteVolumeMountPoint":
				if calls[call.Function]++; calls[call.Function]%3 != 0 {
					return &kernel.Error{Function: call.Function, Object: call.Object, Code: win32.ERROR_SHARING_VIOLATION}
				}
				wantPinned(t, k, call.Function, leafPath)
			}
			return do()
		})
		for name, remove := range removals(n, volumes[0]) {
			if err := by(t.Context(), n).MountVolume(volumes[0], leafPath); err != nil {
				t.Errorf("MountVolume: %v", err)
			}
			if err := remove(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if paths, err := k.VolumePathNames(volumes[0]); err != nil || len(paths) > 0 {
				t.Errorf("%s: the mount manager lists %q, %v", name, paths, err)
			}
		}
		if calls["SetVolumeMountPoint"] != 12 || calls["DeleteVolumeMountPoint"] != 12 {
			t.Errorf("the calls were %v, want each three times for four mounts", calls)
		}
	})
}

// A scanner is waited for when the directory is no longer held, too.
func TestScannerBesideTheSecondWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		released := 0
		n, k, volumes := withVolumes(t, true, func(k *emulated.Node, call kernel.Call, do func() error) error {
			if call.Function != "SetVolumeMountPoint" {
				return do()
			}
			if h, err := openFor(k, leafPath, win32.DELETE); err == nil {
				if released++; released <= 2 {
					defer func() { _ = h.Close() }() // it is the scanner
				} else {
					_ = h.Close()
				}
			}
			return do()
		})
		if err := by(t.Context(), n).MountVolume(volumes[0], leafPath); err != nil || released != 3 {
			t.Errorf("MountVolume: %v, after %d calls without the directory held", err, released)
		}
		if paths, err := k.VolumePathNames(volumes[0]); err != nil || len(paths) != 1 {
			t.Errorf("the mount manager lists %q, %v", paths, err)
		}
	})
}

// Of several mount points in a tree, each waits for its scanner, and the operation's own handle is waited for once.
func TestMountPointsInATree(t *testing.T) {
	for _, object := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			scanned, byHandle := map[string]time.Time{}, 0
			n, _, volumes := withVolumes(t, object, func(_ *emulated.Node, call kernel.Call, do func() error) error {
				switch {
				case call.Code == win32.FSCTL_DELETE_REPARSE_POINT:
					byHandle++
				case call.Function == "DeleteVolumeMountPoint" && !object:
					if scanned[call.Object].IsZero() {
						scanned[call.Object] = time.Now()
					}
					if time.Since(scanned[call.Object]) < 400*time.Millisecond {
						return &kernel.Error{Function: call.Function, Object: call.Object, Code: win32.ERROR_SHARING_VIOLATION}
					}
				}
				return do()
			})
			for i, name := range []string{`\first`, `\second`} {
				must(t, by(t.Context(), n).MountVolume(volumes[i], leafParent+name))
			}
			begin := time.Now()
			if err := by(t.Context(), n).Rmdir(leafParent, true); err != nil {
				t.Error(err)
			}
			if waited := time.Since(begin); object && waited > time.Second {
				t.Errorf("waited %v, want half a second in all", waited)
			}
			if want := map[bool]int{true: 2}[object]; byHandle != want {
				t.Errorf("%d mount points were removed by their handle, want %d", byHandle, want)
			}
		})
	}
}

// While a scanner is waited for, an administrator mounts another volume there. UnmountVolume leaves that one alone, and
// Rmdir flushes it first.
func TestMountPointReplacedBesideAScanner(t *testing.T) {
	for _, verb := range []string{"UnmountVolume", "Rmdir"} {
		synctest.Test(t, func(t *testing.T) {
			var other, flushed string
			n, k, volumes := withVolumes(t, false, func(k *emulated.Node, call kernel.Call, do func() error) error {
				switch {
				case call.Function == "Flush":
					flushed = call.Object + `\`
				case call.Function == "DeleteVolumeMountPoint" && other != "":
					err := errors.Join(k.DeleteVolumeMountPoint(call.Object), k.SetVolumeMountPoint(call.Object, other))
					if err != nil {
						t.Error(err)
					}
					other = ""
					return &kernel.Error{Function: call.Function, Object: call.Object, Code: win32.ERROR_SHARING_VIOLATION}
				}
				return do()
			})
			must(t, by(t.Context(), n).MountVolume(volumes[0], leafPath))
			other = volumes[1]
			err := removals(n, volumes[0])[verb](t.Context())
			paths, listErr := k.VolumePathNames(volumes[1])
			switch {
			case listErr != nil:
				t.Error(listErr)
			case verb == "Rmdir" && (err != nil || flushed != volumes[1] || len(paths) > 0):
				t.Errorf("Rmdir: %v; flushed last: %s, mounted: %q", err, flushed, paths)
			case verb == "UnmountVolume" && (!errdefs.HasReason(err, reason.OtherVolumeMounted) || len(paths) != 1):
				t.Errorf("UnmountVolume: %v; the other volume is mounted at %q", err, paths)
			}
		})
	}
}

// A workload replaces the directory while a volume is mounted at it and it is not held. The mount fails, and nothing is
// undone.
func TestReplacedWhileMounting(t *testing.T) {
	const elsewhere = leafParent + `\elsewhere`
	for name, c := range map[string]struct {
		replace       func(k *emulated.Node, other string)
		reason, there string
	}{
		"nothing": {func(*emulated.Node, string) {}, reason.NotMounted, "no volume"},
		"a directory": {func(k *emulated.Node, _ string) { newDirectory(t, k, leafPath) },
			reason.NotMounted, "no volume"},
		"a junction": {func(k *emulated.Node, _ string) {
			must(t, reparse.Plant(k, leafPath, reparse.Junction(`C:\Windows`)))
		}, reason.NotMounted, `a link to \??\C:\Windows`},
		"another volume": {func(k *emulated.Node, other string) {
			must(t, reparse.Plant(k, leafPath, reparse.Junction(other)))
		}, reason.OtherVolumeMounted, "volume OTHER"},
	} {
		t.Run(name, func(t *testing.T) {
			var other string
			undone := []string{}
			n, k, volumes := withVolumes(t, true, func(k *emulated.Node, call kernel.Call, do func() error) error {
				err := do()
				switch {
				case call.Function == "DeleteVolumeMountPoint" || call.Code == win32.FSCTL_DELETE_REPARSE_POINT:
					undone = append(undone, call.Object)
				case call.Function == "SetVolumeMountPoint" && err == nil:
					move(t, k, leafPath, leafParent, "elsewhere")
					c.replace(k, other)
				}
				return err
			})
			other = volumes[1]
			var log bytes.Buffer
			ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
			wantError(t, by(ctx, n).MountVolume(volumes[0], leafPath), errdefs.FailedPrecondition, c.reason)
			for _, text := range []string{leafPath, volumes[0], strings.ReplaceAll(c.there, "OTHER", other)} {
				if !strings.Contains(log.String(), strings.Trim(strconv.Quote(text), `"`)) {
					t.Errorf("the log does not name %s:\n%s", text, &log)
				}
			}
			if len(undone) > 0 {
				t.Errorf("removed: %q", undone)
			}
			name, err := k.VolumeNameForMountPoint(elsewhere + `\`)
			if err != nil || name != volumes[0] {
				t.Errorf("at %s: %q, %v, want %q", elsewhere, name, err, volumes[0])
			}
		})
	}
}

// move renames a directory as another process does.
func move(t *testing.T, k *emulated.Node, path, into, name string) {
	t.Helper()
	dir, err := openFor(k, into, winfs.OpenDirectory)
	must(t, err)
	defer func() { _ = dir.Close() }()
	h, err := openFor(k, path, win32.DELETE)
	if err == nil {
		err = errors.Join(h.Rename(dir, name), h.Close())
	}
	must(t, err)
}

// A volume that is mounted there by the second call is not replaced by what another program does between the two.
func TestMountedByAnotherProcess(t *testing.T) {
	var other string
	n, k, volumes := withVolumes(t, true, func(k *emulated.Node, call kernel.Call, do func() error) error {
		if call.Function == "SetVolumeMountPoint" {
			_ = k.SetVolumeMountPoint(leafPath+`\`, other) // it works when the directory is no longer held
		}
		return do()
	})
	other = volumes[1]
	var e *errdefs.Error
	if err := by(t.Context(), n).MountVolume(volumes[0], leafPath); !errors.As(err, &e) ||
		e.Class != errdefs.FailedPrecondition {
		t.Errorf("MountVolume: %v, want FailedPrecondition", err)
	}
	if paths, err := k.VolumePathNames(other); err != nil || !slices.Equal(paths, []string{leafPath + `\`}) {
		t.Errorf("the other volume's paths are %q, %v", paths, err)
	}
}
