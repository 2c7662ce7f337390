// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Microsoft/go-winio/pkg/guid"
	"google.golang.org/grpc/codes"

	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// TestUnmountOfARawVolume: where there is no file system and the device cannot flush, nothing is lost. On a
// formatted volume, and with any other code, it is an error.
func TestUnmountOfARawVolume(t *testing.T) {
	for _, code := range []win32.Errno{win32.ERROR_INVALID_FUNCTION, win32.ERROR_NOT_SUPPORTED} {
		t.Run(code.Name(), func(t *testing.T) {
			n := caller.Start(t, testnode.Options{})
			id := n.Raw(1)
			n.OK(n.MountVolume(id, staging))
			n.Faults.Add(testnode.Fault{Function: "Flush", Times: 1, Error: win32.ERROR_IO_DEVICE})
			n.Code(n.UnmountVolume(id, staging), codes.Unavailable)
			n.Faults.Add(testnode.Fault{Function: "Flush", Times: 2, Error: code})
			n.OK(n.UnmountVolume(id, staging))
			n.OK(n.FormatVolume(id))
			n.OK(n.MountVolume(id, staging))
			n.Code(n.UnmountVolume(id, staging), codes.Unimplemented)
			if !n.IsLink(staging) {
				t.Error("a formatted volume was unmounted without a flush")
			}
		})
	}
}

// TestOnlyNTFSIsGrown: a file system that is not extended keeps its partition, and is staged like any other.
func TestOnlyNTFSIsGrown(t *testing.T) {
	signature := strings.Repeat("\x00", 499) + "\x55\xaa" // of a boot sector
	for name, boot := range map[string]string{
		"ReFS": "\x00\x00\x00ReFS\x00\x00\x00\x00\x00\x00\x00\x00\x00FSRS", "exFAT": "\xeb\x76\x90EXFAT   " + signature,
	} {
		t.Run(name, func(t *testing.T) { onlyNTFSIsGrown(t, name, boot) })
	}
}

func onlyNTFSIsGrown(t *testing.T, name, boot string) {
	t.Helper()
	n := caller.Start(t, testnode.Options{})
	n.Raw(1)
	parts := driveLayout(t, n, 1, nil).Partitions
	image := n.DetachDisk(1)
	f, err := os.OpenFile(image, os.O_WRONLY, 0)
	n.OK(err)
	_, err = f.WriteAt([]byte(boot), parts[len(parts)-1].StartingOffset)
	n.OK(err)
	n.OK(f.Close())
	number := n.Attach(bundle.Spec{ImagePath: image})
	n.GrowDisk(number, 11<<30)
	before := partitions(n, number)
	n.Refused(n.ResizeVolume(n.Volumes(number)[0], 0), codes.FailedPrecondition, "CANNOT_EXTEND", name)
	n.OK(n.StageDisk(number, staging))
	if at, err := n.GetVolumeIDFromTargetPath(staging); at != n.Volumes(number)[0] || err != nil {
		t.Errorf("volume %q is staged, %v, want %q", at, err, n.Volumes(number)[0])
	}
	if after := partitions(n, number); !slices.Equal(after, before) {
		t.Errorf("the partitions are %d bytes long now, were %d", after, before)
	}
}

// driveLayout reads the partition table of a disk as Windows reports it, and writes it back when change is not nil.
func driveLayout(t *testing.T, n *caller.Node, number uint32, change func(*win32.DriveLayout)) win32.DriveLayout {
	t.Helper()
	h, err := n.Emulated.OpenDevice(fmt.Sprintf(`\\.\PhysicalDrive%d`, number), win32.GENERIC_READ|win32.GENERIC_WRITE)
	n.OK(err)
	defer h.Close()
	out := make([]byte, 48+144*128)
	length, err := h.DeviceIoControl(win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, nil, out)
	n.OK(err)
	layout, err := win32.ParseDriveLayout(out[:length])
	n.OK(err)
	if change != nil {
		change(&layout)
		_, err = h.DeviceIoControl(win32.IOCTL_DISK_SET_DRIVE_LAYOUT_EX, layout.Bytes(), nil)
		n.OK(err)
	}
	return layout
}

// TestPartitionsWithoutVolume: the volume of a GPT partition for which Windows makes none is not waited for.
func TestPartitionsWithoutVolume(t *testing.T) {
	for name, attribute := range map[string]uint64{
		"hidden": win32.GPT_BASIC_DATA_ATTRIBUTE_HIDDEN, "required by the platform": win32.GPT_ATTRIBUTE_PLATFORM_REQUIRED,
	} {
		t.Run(name, func(t *testing.T) {
			n := caller.Start(t, testnode.Options{})
			id := n.Formatted(1)
			data := func(l *win32.DriveLayout) *win32.Partition { return &l.Partitions[len(l.Partitions)-1] }
			driveLayout(t, n, 1, func(l *win32.DriveLayout) { data(l).Attributes |= attribute; data(l).Rewrite = true })
			number := data(new(driveLayout(t, n, 1, nil))).Number
			for _, which := range []uint32{0, number} {
				_, err := n.Volume.ListVolumesOnDisk(t.Context(),
					&volume.ListVolumesOnDiskRequest{DiskNumber: 1, PartitionNumber: which})
				n.Refused(err, codes.FailedPrecondition, "NO_VOLUME")
			}
			want := "disk 1 has no data volume"
			if name == "hidden" {
				want = fmt.Sprintf("%s: its partition %d is hidden", want, number)
			}
			err := n.StageDisk(1, staging)
			n.Refused(err, codes.NotFound, "VOLUME_NOT_FOUND", want)
			if name != "hidden" && strings.Contains(err.Error(), "hidden") {
				t.Errorf("a partition that is not hidden: %v", err)
			}
			n.OK(n.SetDiskState(1, false))
			n.OK(n.SetDiskState(1, true)) // would wait for it, too
			driveLayout(t, n, 1, func(l *win32.DriveLayout) { data(l).Attributes &^= attribute; data(l).Rewrite = true })
			if volumes := n.Volumes(1); !slices.Equal(volumes, []string{id}) {
				t.Errorf("volumes %q, want %q", volumes, id)
			}
		})
	}
}

// TestUnmountDuringQuery: an unmount between two looks of a query makes it answer that nothing is
// mounted, which a driver understands, and not that something is wrong.
func TestUnmountDuringQuery(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	n.OK(n.MountVolume(n.Formatted(1), staging))
	n.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.FSCTL_GET_REPARSE_POINT, Times: 1,
		Error: win32.ERROR_NOT_A_REPARSE_POINT})
	_, err := n.GetVolumeIDFromTargetPath(staging)
	n.Code(err, codes.NotFound, "because it does not exist")
}

func TestStatsOfARawVolume(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	if total, used, err := n.GetVolumeStats(n.Raw(1)); total != 0 || used != 0 || err != nil {
		t.Errorf("%d of %d bytes used, %v, want 0 of 0", used, total, err)
	}
}

func TestResizeSlack(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	id := n.Formatted(1)
	n.GrowDisk(1, 11<<30)
	resize := func(size int64) error { return n.ResizeVolume(id, size) }
	length := func() int64 {
		tree := partitions(n, 1)
		return tree[len(tree)-1]
	}
	start := length()
	n.OK(resize(start + 1<<19)) // less than 1 MiB: not worth growing
	if length() != start {
		t.Errorf("grew by %d bytes for half a MiB", length()-start)
	}
	n.OK(resize(start + 1<<20))
	if got := length() - start; got != 1<<20 {
		t.Errorf("grew by %d bytes, want 1 MiB", got)
	}
	n.OK(resize(start + 2<<20 + 1)) // not smaller than asked for
	if got := length() - start; got != 2<<20+512 {
		t.Errorf("grew by %d bytes, want 2 MiB and a sector", got)
	}
	most := start + 1<<30
	n.Code(resize(most+1<<20+1), codes.OutOfRange)
	n.OK(resize(most + 1<<20)) // within the slack of alignment
	if got := length(); got != most {
		t.Errorf("length %d, want the maximum %d", got, most)
	}
}

// twoVolumes makes two volumes on disk 1.
func twoVolumes(t *testing.T, n *caller.Node) []string {
	t.Helper()
	n.OK(n.PartitionDisk(1))
	driveLayout(t, n, 1, func(l *win32.DriveLayout) {
		first := &l.Partitions[len(l.Partitions)-1]
		first.Length, first.Rewrite = 2<<30, true
		second := *first
		second.StartingOffset += 4 << 30
		second.Number++
		var err error
		second.ID, err = guid.NewV4()
		n.OK(err)
		l.Partitions = append(l.Partitions, second)
	})
	ids := n.Volumes(1)
	if len(ids) != 2 {
		t.Fatalf("the disk has the volumes %q, want two", ids)
	}
	return ids
}

// TestVolumesOfOneDiskAreResizedOneByOne: both change the disk's table, which Windows reads and writes as a whole.
func TestVolumesOfOneDiskAreResizedOneByOne(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	ids := twoVolumes(t, n)
	before := partitions(n, 1)
	resize := func(ctx context.Context, id string) error { return n.Within(ctx).ResizeVolume(id, 3<<30) }
	reached, release := n.Hang(csiproxytest.Calls{Function: "DeviceIoControl", ControlCode: "IOCTL_DISK_GROW_PARTITION",
		Times: 1})
	first := make(chan error, 1)
	go func() { first <- resize(t.Context(), ids[0]) }()
	<-reached
	soon, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	n.Refused(resize(soon, ids[1]), codes.DeadlineExceeded, reason.StillRunning)
	if now := partitions(n, 1); !slices.Equal(now, before) {
		t.Errorf("while one volume is being resized, the other's partition grew: %d bytes, were %d", now, before)
	}
	release()
	n.OK(<-first)
	n.OK(resize(t.Context(), ids[1]))
	for i, length := range partitions(n, 1)[len(before)-2:] {
		if length != 3<<30 {
			t.Errorf("partition %d is %d bytes long, want %d", i, length, 3<<30)
		}
	}
}

// partitions returns the lengths of a disk's partitions.
func partitions(n *caller.Node, number uint32) []int64 {
	var lengths []int64
	for _, p := range n.Tree().Disks[number].Partitions {
		lengths = append(lengths, p.SizeBytes)
	}
	return lengths
}

// A volume on an MBR disk, as in-tree drivers made them, grows with its disk, by the control code and by WMI.
func TestResizeOnAnMBR(t *testing.T) {
	for growth, fault := range map[string]testnode.Fault{"the control code": {}, "WMI": neverGrows} {
		n := caller.Start(t, testnode.Options{})
		if fault.Function != "" {
			n.Faults.Add(fault)
		}
		number := n.Attach(bundle.Spec{Formatted: true, Table: tableMBR})
		id := n.Volumes(number)[0]
		n.OK(n.MountVolume(id, staging))
		n.WriteFile(staging+`\data`, "kept")
		before := n.Size(id)
		n.GrowDisk(number, 2<<30)
		n.OK(n.ResizeVolume(id, 0))
		if grown := n.Size(id) - before; grown != 1<<30 {
			t.Errorf("%s: it grew by %d, want %d", growth, grown, 1<<30)
		}
		n.Holds(staging+`\data`, "kept")
	}
}
