// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

// A table stays until the disk's size is looked at again, and whatever is refused changes nothing.
func TestGrowing(t *testing.T) {
	for _, growRefreshes := range []bool{false, true} {
		n := newNode(t, func(s *scenario.Switches) { s.GrowPartitionRefreshes = growRefreshes })
		v := formatted(t, n, oneDrive)
		before := layoutOf(t, n, 1)
		must(t, n.GrowDisk(1, 20<<30))
		must(t, ioctl(n, oneDrive, win32.IOCTL_DISK_UPDATE_PROPERTIES, nil))
		if l := layoutOf(t, n, 1); l.UsableLength != before.UsableLength {
			t.Errorf("refreshed without IOCTL_DISK_UPDATE_DRIVE_SIZE: %d", l.UsableLength)
		}
		must(t, ioctl(n, oneDrive, win32.IOCTL_DISK_UPDATE_DRIVE_SIZE, nil))
		must(t, ioctl(n, oneDrive, win32.IOCTL_DISK_UPDATE_PROPERTIES, nil))
		for _, wrong := range []win32.GrowPartition{{Number: 2, BytesToGrow: 15 << 30}, {Number: 7, BytesToGrow: 512},
			{Number: 1, BytesToGrow: 512}, {Number: 2}, {Number: 2, BytesToGrow: -512}, {Number: 2, BytesToGrow: 100}} {
			wantCode(t, "wrong growth", ioctl(n, oneDrive, win32.IOCTL_DISK_GROW_PARTITION, wrong.Bytes()),
				win32.ERROR_INVALID_PARAMETER)
		}
		if l := layoutOf(t, n, 1); (l.UsableLength == before.UsableLength) != growRefreshes {
			t.Errorf("grow refreshes: %v, usable after refused growths: %d", growRefreshes, l.UsableLength)
		}
		must(t, ioctl(n, oneDrive, win32.IOCTL_DISK_GROW_PARTITION,
			win32.GrowPartition{Number: 2, BytesToGrow: 5 << 30}.Bytes()))
		total, free, err := n.DiskFreeSpace(v)
		must(t, err)
		sectors := firstData(n).Length / 512
		extend := func(sectors int64) error {
			return ioctl(n, v[:len(v)-1], win32.FSCTL_EXTEND_VOLUME, win32.ExtendVolume(sectors))
		}
		wantCode(t, "too much", extend(sectors+1), win32.ERROR_INVALID_PARAMETER)
		wantCode(t, "less than a cluster", extend(int64(firstData(n).boot.Sectors)+3), win32.ERROR_INVALID_PARAMETER)
		must(t, extend(sectors))
		now, nowFree, err := n.DiskFreeSpace(v)
		must(t, err)
		if now != total+5<<30 || now-nowFree != total-free {
			t.Errorf("total %d, was %d; used %d, was %d", now, total, now-nowFree, total-free)
		}
		wantCode(t, "once more", extend(sectors-1), win32.ERROR_INVALID_PARAMETER)
		sgdisk(t, n.disks[1].image.Path)
	}
}
