// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
)

// TestLives plays every driver's life and compares its calls with those read from the driver's source; lower-case steps
// happen in the driver's container. Then it plays a sample of lives with one step interrupted and the operation retried.
func TestLives(t *testing.T) {
	const (
		mountRaw       = "PartitionDisk SetDiskState ListVolumesOnDisk IsVolumeFormatted FormatVolume MountVolume"
		mountFormatted = "PartitionDisk SetDiskState ListVolumesOnDisk IsVolumeFormatted MountVolume"
		unmount        = "UnmountVolume Rmdir GetDiskNumberFromVolumeID SetDiskState"
	)
	want := map[string]map[string]string{
		"EBS": {
			"NodeStage#1": "dial ListDiskIDs PathExists Mkdir GetVolumeIDFromTargetPath " + mountRaw +
				" Rescan GetDiskStats GetVolumeIDFromTargetPath GetVolumeStats",
			"NodePublish#1":        "PathExists PathExists CreateSymlink",
			"NodeStage#2":          "dial ListDiskIDs PathExists GetVolumeIDFromTargetPath GetDiskNumberFromVolumeID",
			"NodePublish#2":        "PathExists Rmdir PathExists CreateSymlink",
			"NodeGetVolumeStats#1": "PathExists statfs",
			"NodeExpand#1": "GetVolumeIDFromTargetPath GetDiskNumberFromVolumeID dial ListDiskIDs Rescan " +
				"GetVolumeIDFromTargetPath ResizeVolume GetDiskStats",
			"NodeUnpublish#1": "Rmdir",
			"NodeUnstage#1":   "GetVolumeIDFromTargetPath GetDiskNumberFromVolumeID GetVolumeIDFromTargetPath " + unmount,
			"NodeStage#3": "dial ListDiskIDs PathExists Mkdir GetVolumeIDFromTargetPath " + mountFormatted +
				" Rescan GetDiskStats GetVolumeIDFromTargetPath GetVolumeStats",
		},
		"GCP": {
			"NodeStage#1":          "ListDiskIDs IsSymlink GetDiskStats " + mountRaw + " GetVolumeIDFromTargetPath ResizeVolume",
			"NodePublish#1":        "IsSymlink PathExists mkdirall CreateSymlink",
			"NodeStage#2":          "ListDiskIDs IsSymlink",
			"NodePublish#2":        "IsSymlink",
			"NodeGetVolumeStats#1": "lstat GetVolumeIDFromTargetPath GetVolumeStats",
			"NodeExpand#1":         "ListDiskIDs GetVolumeIDFromTargetPath ResizeVolume GetDiskStats",
			"NodeUnpublish#1":      "Rmdir",
			"NodeUnstage#1":        "PathExists GetVolumeIDFromTargetPath " + unmount + " ListDiskIDs",
			"NodeStage#3": "ListDiskIDs IsSymlink GetDiskStats " + mountFormatted +
				" GetVolumeIDFromTargetPath ResizeVolume",
		},
		"AzureDisk": {
			"NodeStage#1": "Rescan ListDiskLocations PathExists PartitionDisk ListVolumesOnDisk IsVolumeFormatted " +
				"FormatVolume MountVolume ResizeVolume",
			"NodePublish#1":        "PathExists PathExists CreateSymlink",
			"NodeStage#2":          "Rescan ListDiskLocations PathExists IsSymlink readdir",
			"NodePublish#2":        "PathExists Rmdir PathExists CreateSymlink",
			"NodeGetVolumeStats#1": "GetVolumeIDFromTargetPath GetVolumeStats",
			"NodeExpand#1":         "GetVolumeIDFromTargetPath GetVolumeStats",
			"NodeUnpublish#1":      "Rmdir",
			"NodeUnstage#1":        "GetVolumeIDFromTargetPath WriteVolumeCache Rmdir",
			"NodeStage#3": "Rescan ListDiskLocations PathExists PartitionDisk ListVolumesOnDisk IsVolumeFormatted " +
				"MountVolume ResizeVolume",
		},
		"vSphere": {
			"NodeStage#1":          "ListDiskIDs PathExists " + mountRaw,
			"NodePublish#1":        "PathExists Mkdir CreateSymlink",
			"NodeStage#2":          "ListDiskIDs PathExists IsSymlink readdir",
			"NodePublish#2":        "PathExists Rmdir Mkdir CreateSymlink",
			"NodeGetVolumeStats#1": "GetVolumeIDFromTargetPath GetVolumeStats",
			"NodeExpand#1":         "GetVolumeIDFromTargetPath GetDiskNumberFromVolumeID SetDiskState ResizeVolume",
			"NodeUnpublish#1":      "Rmdir",
			"NodeUnstage#1":        "PathExists GetVolumeIDFromTargetPath " + unmount,
			"NodeStage#3":          "ListDiskIDs PathExists " + mountFormatted,
		},
	}
	machine := maps.Clone(want["vSphere"])
	machine["NodeGetInfo#1"], machine["NodeGetInfo#2"] = "GetBIOSSerialNumber", "GetBIOSSerialNumber"
	want["vSphere machine"] = machine
	for subject, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			l := s.live(t, disturbance{}, nil)
			l.whole(t)
			l.again(t, subject, 73, func(t *testing.T, d disturbance) { s.live(t, d, l) })
			if s.kubeletMakes { // then some calls differ, which the comparison of states covers
				return
			}
			name, _, _ := strings.Cut(s.name, ",")
			got := make(map[string]string)
			for operation := range want[name] {
				got[operation] = strings.Join(sequence(l.calls.taken, operation), " ")
			}
			if diff := cmp.Diff(want[name], got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// whole asserts what comparing lives with each other does not show: that this one is right.
func (l *life) whole(t *testing.T) {
	t.Helper()
	const overhead = 64 << 20
	grown := l.sizeBytes + growBytes
	wantGrown := grown
	if l.expandError != nil {
		wantGrown = l.sizeBytes // only at the next stage
	}
	for _, c := range []struct {
		where string
		disk  int64
	}{{"in use", l.sizeBytes}, {"grown", wantGrown}, {"in use again", grown}} {
		if got := l.data(c.where).TotalBytes; got > c.disk || got < c.disk-overhead {
			t.Errorf("%s: the volume has %d bytes on a disk of %d", c.where, got, c.disk)
		}
		if diff := cmp.Diff([]string{"C:" + staging + `\`}, l.data(c.where).MountPoints); diff != "" {
			t.Errorf("%s: mount points (-want +got):\n%s", c.where, diff)
		}
		l.wantPath(t, c.where, staging, fmt.Sprintf(`leads to volume of disk %d, partition 2`, l.disk))
		l.wantPath(t, c.where, publish, "leads to C:"+staging)
	}
	for _, where := range []string{"given up", "given up again"} {
		if got := l.usedDisk(where).IsOnline(); got != l.staysOnline {
			t.Errorf("%s: the disk is online=%t", where, got)
		}
		if l.staysOnline && len(l.data(where).MountPoints) > 0 {
			t.Errorf("%s: still mounted at %q", where, l.data(where).MountPoints)
		}
		l.wantPath(t, where, staging, "")
		l.wantPath(t, where, publish, "")
	}
}

func (l *life) wantPath(t *testing.T, where, path, want string) {
	t.Helper()
	if got := l.snapshots[where].Paths["C:"+strings.TrimPrefix(path, "c:")]; got != want {
		t.Errorf("%s: %s is %q, want %q", where, path, got, want)
	}
}

// usedDisk returns the disk of this life, data its volume, zero when it is offline.
func (l *life) usedDisk(where string) treeview.Disk {
	for _, d := range l.snapshots[where].Disks {
		if d.Number == l.disk {
			return d
		}
	}
	return treeview.Disk{}
}

func (l *life) data(where string) treeview.Volume {
	for _, p := range l.usedDisk(where).Volumes() {
		return *p.Volume
	}
	return treeview.Volume{}
}
