// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"fmt"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

func TestAttributesVersion(t *testing.T) {
	for _, accepted := range []uint32{16, 40} {
		n := newNode(t, func(s *scenario.Switches) { s.AttributesVersion = accepted })
		for _, version := range []uint32{16, 40, 0} {
			want := win32.ERROR_INVALID_PARAMETER
			if version == accepted {
				want = 0
			}
			err := ioctl(n, oneDrive, win32.IOCTL_DISK_SET_DISK_ATTRIBUTES,
				win32.SetDiskAttributes{Version: version, AttributesMask: 1}.Bytes())
			wantCode(t, "version", err, want)
		}
	}
}

func TestCreateDiskOnAnOfflineDisk(t *testing.T) {
	create := win32.CreateDisk{Style: win32.PARTITION_STYLE_GPT}.Bytes()
	for _, clears := range []bool{false, true} {
		n := newNode(t, func(s *scenario.Switches) { s.CreateDiskClears, s.OfflineDisksReadOnly = clears, true })
		d := n.disks[2]
		if !d.record.ReadOnly {
			t.Error("the disk should have arrived read-only")
		}
		err := ioctl(n, `\\.\PhysicalDrive2`, win32.IOCTL_DISK_CREATE_DISK, create)
		if clears {
			wantCode(t, "clearing", err, 0)
		} else {
			wantCode(t, "not clearing", err, win32.ERROR_WRITE_PROTECT)
		}
		if online := d.attributes() == 0; online != clears {
			t.Errorf("clears: %v, attributes: %#x", clears, d.attributes())
		}
	}
}

// The switch takes effect at once, even on how an attached disk reads.
func TestZeroedDisk(t *testing.T) {
	n := newNode(t, nil)
	for _, isMBR := range []bool{false, true} {
		must(t, n.SetSwitch("zeroedDiskIsMBR", fmt.Sprint(isMBR)))
		l := layoutOf(t, n, 1)
		if (l.Style == win32.PARTITION_STYLE_MBR) != isMBR || l.HasDataPartition() || l.Signature != 0 ||
			len(l.Partitions) != map[bool]int{true: 4}[isMBR] {
			t.Errorf("MBR: %v: %+v", isMBR, l)
		}
	}
	partition(t, n, oneDrive)
	if l := layoutOf(t, n, 1); l.Style != win32.PARTITION_STYLE_GPT {
		t.Errorf("it cannot be made a GPT disk: %+v", l)
	}
}

func TestReservedPartitionArrival(t *testing.T) {
	for arrival, firstSeen := range map[string]int{scenario.MSRImmediate: 1, scenario.MSRDelayed: 3, scenario.MSRNever: 0} {
		n := newNode(t, func(s *scenario.Switches) { s.MSR = arrival })
		must(t, ioctl(n, oneDrive, win32.IOCTL_DISK_CREATE_DISK, win32.CreateDisk{Style: win32.PARTITION_STYLE_GPT}.Bytes()))
		seen := 0
		for reading := 1; reading <= 5; reading++ {
			l := layoutOf(t, n, 1)
			if seen == 0 && len(l.Partitions) > 0 {
				seen = reading
				p := l.Partitions[0]
				if p.Type != win32.PartitionMSR || p.StartingOffset != 17408 ||
					p.StartingOffset+p.Length != 16<<20 || p.Number != 1 {
					t.Errorf("%s: %+v", arrival, p)
				}
			}
		}
		if seen != firstSeen {
			t.Errorf("%s: first seen at reading %d, want %d", arrival, seen, firstSeen)
		}
	}
}

func TestGrownDisk(t *testing.T) {
	for _, growRefreshes := range []bool{false, true} {
		n := newNode(t, func(s *scenario.Switches) { s.GrowPartitionRefreshes = growRefreshes })
		partition(t, n, oneDrive)
		before := layoutOf(t, n, 1)
		must(t, n.GrowDisk(1, 20<<30))
		grow := win32.GrowPartition{Number: 2, BytesToGrow: 5 << 30}.Bytes()
		must(t, ioctl(n, oneDrive, win32.IOCTL_DISK_UPDATE_PROPERTIES, nil))
		if l := layoutOf(t, n, 1); l.UsableLength != before.UsableLength {
			t.Errorf("refreshed without IOCTL_DISK_UPDATE_DRIVE_SIZE: %d", l.UsableLength)
		}
		if !growRefreshes {
			wantCode(t, "grow too early", ioctl(n, oneDrive, win32.IOCTL_DISK_GROW_PARTITION, grow),
				win32.ERROR_INVALID_PARAMETER)
		}
		must(t, ioctl(n, oneDrive, win32.IOCTL_DISK_UPDATE_DRIVE_SIZE, nil))
		must(t, ioctl(n, oneDrive, win32.IOCTL_DISK_UPDATE_PROPERTIES, nil))
		if l := layoutOf(t, n, 1); (l.UsableLength == before.UsableLength) != growRefreshes {
			t.Errorf("grow refreshes: %v, usable: %d", growRefreshes, l.UsableLength)
		}
		for _, wrong := range []win32.GrowPartition{{Number: 2, BytesToGrow: 15 << 30}, {Number: 7, BytesToGrow: 512},
			{Number: 1, BytesToGrow: 512}, {Number: 2}, {Number: 2, BytesToGrow: -512}, {Number: 2, BytesToGrow: 100}} {
			wantCode(t, "wrong growth", ioctl(n, oneDrive, win32.IOCTL_DISK_GROW_PARTITION, wrong.Bytes()),
				win32.ERROR_INVALID_PARAMETER)
		}
		if l := layoutOf(t, n, 1); (l.UsableLength == before.UsableLength) != growRefreshes {
			t.Errorf("grow refreshes: %v, usable after refused growths: %d", growRefreshes, l.UsableLength)
		}
		must(t, ioctl(n, oneDrive, win32.IOCTL_DISK_GROW_PARTITION, grow))
		l := layoutOf(t, n, 1)
		if l.UsableLength != before.UsableLength+10<<30 || l.Partitions[1].Length != before.Partitions[1].Length+5<<30 {
			t.Errorf("grow refreshes: %v: %+v", growRefreshes, l)
		}
		d := n.disks[1]
		sgdisk(t, d.image.Path)
	}
}

func TestExtendVolume(t *testing.T) {
	for _, oneLess := range []bool{false, true} {
		n := newNode(t, func(s *scenario.Switches) { s.ExtendOneSectorLess = oneLess })
		v := formatted(t, n, oneDrive)
		must(t, n.GrowDisk(1, 20<<30))
		must(t, ioctl(n, oneDrive, win32.IOCTL_DISK_UPDATE_DRIVE_SIZE, nil))
		must(t, ioctl(n, oneDrive, win32.IOCTL_DISK_UPDATE_PROPERTIES, nil))
		must(t, ioctl(n, oneDrive, win32.IOCTL_DISK_GROW_PARTITION,
			win32.GrowPartition{Number: 2, BytesToGrow: 5 << 30}.Bytes()))
		total, free, err := n.DiskFreeSpace(v)
		must(t, err)
		sectors := firstData(n).length / 512
		extend := func(sectors int64) error {
			return ioctl(n, v[:len(v)-1], win32.FSCTL_EXTEND_VOLUME, win32.ExtendVolume(sectors))
		}
		wantCode(t, "too much", extend(sectors+1), win32.ERROR_INVALID_PARAMETER)
		wantCode(t, "less than a cluster", extend(int64(firstData(n).boot.Sectors)+3), win32.ERROR_INVALID_PARAMETER)
		if oneLess {
			wantCode(t, "all sectors", extend(sectors), win32.ERROR_INVALID_PARAMETER)
			must(t, extend(sectors-1))
		} else {
			must(t, extend(sectors))
		}
		now, nowFree, err := n.DiskFreeSpace(v)
		must(t, err)
		if now != total+5<<30 || now-nowFree != total-free {
			t.Errorf("total %d, was %d; used %d, was %d", now, total, now-nowFree, total-free)
		}
		wantCode(t, "once more", extend(sectors-1), win32.ERROR_INVALID_PARAMETER)
	}
}
