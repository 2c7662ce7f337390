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

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

func mount(t *testing.T, n *testnode.Node, id, path string) error {
	t.Helper()
	_, err := n.Volume.MountVolume(t.Context(), &volume.MountVolumeRequest{VolumeId: id, TargetPath: path})
	return err
}

func unmount(t *testing.T, n *testnode.Node, id, path string) error {
	t.Helper()
	_, err := n.Volume.UnmountVolume(t.Context(), &volume.UnmountVolumeRequest{VolumeId: id, TargetPath: path})
	return err
}

// TestUnmountOfARawVolume: where there is no file system and the device cannot flush, nothing is lost. On a
// formatted volume, and with any other code, it is an error.
func TestUnmountOfARawVolume(t *testing.T) {
	for _, code := range []win32.Errno{win32.ERROR_INVALID_FUNCTION, win32.ERROR_NOT_SUPPORTED} {
		t.Run(code.Name(), func(t *testing.T) {
			n := testnode.Start(t, testnode.Options{})
			noError(t, partition(t, n, 1))
			volumes, err := n.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: 1})
			noError(t, err)
			id := volumes.GetVolumeIds()[0]
			noError(t, mount(t, n, id, staging))
			n.Faults.Add(testnode.Fault{Function: "Flush", Times: 1, Error: win32.ERROR_IO_DEVICE})
			wantCode(t, unmount(t, n, id, staging), codes.Unavailable)
			n.Faults.Add(testnode.Fault{Function: "Flush", Times: 2, Error: code})
			noError(t, unmount(t, n, id, staging))
			_, err = n.Volume.FormatVolume(t.Context(), &volume.FormatVolumeRequest{VolumeId: id})
			noError(t, err)
			noError(t, mount(t, n, id, staging))
			wantCode(t, unmount(t, n, id, staging), codes.Unimplemented)
			if !isSymlink(t, n, staging) {
				t.Error("a formatted volume was unmounted without a flush")
			}
		})
	}
}

// TestOnlyNTFSIsGrown: a file system that is not extended keeps its partition.
func TestOnlyNTFSIsGrown(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	noError(t, partition(t, n, 1))
	parts := driveLayout(t, n, 1, nil).Partitions
	image, err := n.Emulated.DetachDisk(1)
	noError(t, err)
	f, err := os.OpenFile(image, os.O_WRONLY, 0)
	noError(t, err)
	_, err = f.WriteAt([]byte("ReFS\x00\x00\x00\x00\x00\x00\x00\x00\x00FSRS"), parts[len(parts)-1].StartingOffset+3)
	noError(t, err)
	noError(t, f.Close())
	number := attach(t, n, emulated.DiskSpec{ImagePath: image})
	volumes, err := n.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: number})
	noError(t, err)
	noError(t, n.Emulated.GrowDisk(number, 11<<30))
	before := partitions(t, n, number)
	_, err = n.Volume.ResizeVolume(t.Context(), &volume.ResizeVolumeRequest{VolumeId: volumes.GetVolumeIds()[0]})
	wantReason(t, err, codes.FailedPrecondition, "CANNOT_EXTEND", "ReFS")
	if after := partitions(t, n, number); !slices.Equal(after, before) {
		t.Errorf("the partitions are %d bytes long now, were %d", after, before)
	}
}

// driveLayout reads the partition table of a disk as Windows reports it, and writes it back when change is not nil.
func driveLayout(t *testing.T, n *testnode.Node, number uint32, change func(*win32.DriveLayout)) win32.DriveLayout {
	t.Helper()
	h, err := n.Emulated.OpenDevice(fmt.Sprintf(`\\.\PhysicalDrive%d`, number), win32.GENERIC_READ|win32.GENERIC_WRITE)
	noError(t, err)
	defer h.Close()
	out := make([]byte, 48+144*128)
	length, err := h.DeviceIoControl(win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, nil, out)
	noError(t, err)
	layout, err := win32.ParseDriveLayout(out[:length])
	noError(t, err)
	if change != nil {
		change(&layout)
		_, err = h.DeviceIoControl(win32.IOCTL_DISK_SET_DRIVE_LAYOUT_EX, layout.Bytes(), nil)
		noError(t, err)
	}
	return layout
}

// TestPartitionsWithoutVolume: the volume of a GPT partition for which Windows makes none is not waited for.
func TestPartitionsWithoutVolume(t *testing.T) {
	for name, attribute := range map[string]uint64{
		"hidden": win32.GPT_BASIC_DATA_ATTRIBUTE_HIDDEN, "required by the platform": win32.GPT_ATTRIBUTE_PLATFORM_REQUIRED,
	} {
		t.Run(name, func(t *testing.T) {
			n := testnode.Start(t, testnode.Options{})
			id := formatted(t, n, 1)
			data := func(l *win32.DriveLayout) *win32.Partition { return &l.Partitions[len(l.Partitions)-1] }
			driveLayout(t, n, 1, func(l *win32.DriveLayout) { data(l).Attributes |= attribute; data(l).Rewrite = true })
			number := data(new(driveLayout(t, n, 1, nil))).Number
			for _, which := range []uint32{0, number} {
				_, err := n.Volume.ListVolumesOnDisk(t.Context(),
					&volume.ListVolumesOnDiskRequest{DiskNumber: 1, PartitionNumber: which})
				wantReason(t, err, codes.FailedPrecondition, "NO_VOLUME")
			}
			noError(t, setState(t, n, 1, false))
			noError(t, setState(t, n, 1, true)) // would wait for it, too
			driveLayout(t, n, 1, func(l *win32.DriveLayout) { data(l).Attributes &^= attribute; data(l).Rewrite = true })
			volumes, err := n.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: 1})
			noError(t, err)
			if !slices.Equal(volumes.GetVolumeIds(), []string{id}) {
				t.Errorf("volumes %q, want %q", volumes.GetVolumeIds(), id)
			}
		})
	}
}

// TestUnmountDuringQuery: an unmount between two looks of a query makes it answer that nothing is
// mounted, which a driver understands, and not that something is wrong.
func TestUnmountDuringQuery(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	noError(t, mount(t, n, formatted(t, n, 1), staging))
	n.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.FSCTL_GET_REPARSE_POINT, Times: 1,
		Error: win32.ERROR_NOT_A_REPARSE_POINT})
	_, err := n.Volume.GetVolumeIDFromTargetPath(t.Context(),
		&volume.GetVolumeIDFromTargetPathRequest{TargetPath: staging})
	wantCode(t, err, codes.NotFound)
	if !strings.Contains(err.Error(), "because it does not exist") {
		t.Errorf("the error %v lacks the text that drivers match on", err)
	}
}

func TestStatsOfARawVolume(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	noError(t, partition(t, n, 1))
	volumes, err := n.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: 1})
	noError(t, err)
	id := volumes.GetVolumeIds()[0]
	stats, err := n.Volume.GetVolumeStats(t.Context(), &volume.GetVolumeStatsRequest{VolumeId: id})
	noError(t, err)
	if stats.GetTotalBytes() != 0 || stats.GetUsedBytes() != 0 {
		t.Errorf("%d of %d bytes used, want 0 of 0", stats.GetUsedBytes(), stats.GetTotalBytes())
	}
	_, err = n.Volume.FormatVolume(t.Context(), &volume.FormatVolumeRequest{VolumeId: id})
	noError(t, err)
	noError(t, mount(t, n, id, staging))
	stats, err = n.Volume.GetVolumeStats(t.Context(), &volume.GetVolumeStatsRequest{VolumeId: id})
	noError(t, err)
	if stats.GetTotalBytes() < 9<<30 || stats.GetUsedBytes() <= 0 || stats.GetUsedBytes() > 1<<30 {
		t.Errorf("%d of %d bytes used in a new file system", stats.GetUsedBytes(), stats.GetTotalBytes())
	}
	n.WriteFile(staging+`\data`, string(make([]byte, 1<<20)))
	after, err := n.Volume.GetVolumeStats(t.Context(), &volume.GetVolumeStatsRequest{VolumeId: id})
	noError(t, err)
	if grown := after.GetUsedBytes() - stats.GetUsedBytes(); grown < 1<<20 || grown > 2<<20 {
		t.Errorf("a file of 1 MiB takes %d bytes", grown)
	}
}

func TestInterruptedGrowthIsCompleted(t *testing.T) {
	for name, fault := range map[string]testnode.Fault{
		"before the partition grew":    {Code: win32.IOCTL_DISK_GROW_PARTITION},
		"after the partition grew":     {Code: win32.IOCTL_DISK_GROW_PARTITION, After: true},
		"before the file system grew":  {Code: win32.FSCTL_EXTEND_VOLUME},
		"after the file system grew":   {Code: win32.FSCTL_EXTEND_VOLUME, After: true},
		"while its size was asked for": {Code: win32.FSCTL_GET_NTFS_VOLUME_DATA},
	} {
		t.Run(name, func(t *testing.T) {
			n := testnode.Start(t, testnode.Options{})
			id := formatted(t, n, 1)
			before := volumeSize(t, n, id)
			noError(t, n.Emulated.GrowDisk(1, 11<<30))
			fault.Function, fault.Times, fault.Error = "DeviceIoControl", 1, win32.ERROR_IO_DEVICE
			n.Faults.Add(fault)
			resize := func() error {
				_, err := n.Volume.ResizeVolume(t.Context(), &volume.ResizeVolumeRequest{VolumeId: id})
				return err
			}
			wantCode(t, resize(), codes.Unavailable)
			noError(t, resize())
			if grown := volumeSize(t, n, id) - before; grown != 1<<30 {
				t.Errorf("grew by %d bytes, want %d", grown, 1<<30)
			}
		})
	}
}

func TestResizeSlack(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	id := formatted(t, n, 1)
	noError(t, n.Emulated.GrowDisk(1, 11<<30))
	resize := func(size int64) error {
		_, err := n.Volume.ResizeVolume(t.Context(), &volume.ResizeVolumeRequest{VolumeId: id, SizeBytes: size})
		return err
	}
	length := func() int64 {
		tree := partitions(t, n, 1)
		return tree[len(tree)-1]
	}
	start := length()
	noError(t, resize(start+1<<19)) // less than 1 MiB: not worth growing
	if length() != start {
		t.Errorf("grew by %d bytes for half a MiB", length()-start)
	}
	noError(t, resize(start+1<<20))
	if got := length() - start; got != 1<<20 {
		t.Errorf("grew by %d bytes, want 1 MiB", got)
	}
	noError(t, resize(start+2<<20+1)) // not smaller than asked for
	if got := length() - start; got != 2<<20+512 {
		t.Errorf("grew by %d bytes, want 2 MiB and a sector", got)
	}
	most := start + 1<<30
	wantCode(t, resize(most+1<<20+1), codes.OutOfRange)
	noError(t, resize(most+1<<20)) // within the slack of alignment
	if got := length(); got != most {
		t.Errorf("length %d, want the maximum %d", got, most)
	}
}

// twoVolumes makes two volumes on disk 1.
func twoVolumes(t *testing.T, n *testnode.Node) []string {
	t.Helper()
	noError(t, partition(t, n, 1))
	driveLayout(t, n, 1, func(l *win32.DriveLayout) {
		first := &l.Partitions[len(l.Partitions)-1]
		first.Length, first.Rewrite = 2<<30, true
		second := *first
		second.StartingOffset += 4 << 30
		second.Number++
		var err error
		second.ID, err = guid.NewV4()
		noError(t, err)
		l.Partitions = append(l.Partitions, second)
	})
	ids := volumesOf(t, n, 1)
	if len(ids) != 2 {
		t.Fatalf("the disk has the volumes %q, want two", ids)
	}
	return ids
}

// TestVolumesOfOneDiskAreResizedOneByOne: both change the disk's table, which Windows reads and writes as a whole.
func TestVolumesOfOneDiskAreResizedOneByOne(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	ids := twoVolumes(t, n)
	before := partitions(t, n, 1)
	resize := func(ctx context.Context, id string) error {
		_, err := n.Volume.ResizeVolume(ctx, &volume.ResizeVolumeRequest{VolumeId: id, SizeBytes: 3 << 30})
		return err
	}
	hang, reached, err := n.Agent.Harness.Faults.Add(faults.Fault{Function: "DeviceIoControl",
		Code: win32.IOCTL_DISK_GROW_PARTITION, Times: 1, Hang: true})
	noError(t, err)
	first := make(chan error, 1)
	go func() { first <- resize(t.Context(), ids[0]) }()
	<-reached
	soon, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	wantCode(t, resize(soon, ids[1]), codes.DeadlineExceeded)
	if now := partitions(t, n, 1); !slices.Equal(now, before) {
		t.Errorf("while one volume is being resized, the other's partition grew: %d bytes, were %d", now, before)
	}
	n.Agent.Harness.Faults.Remove(hang)
	noError(t, <-first)
	noError(t, resize(t.Context(), ids[1]))
	for i, length := range partitions(t, n, 1)[len(before)-2:] {
		if length != 3<<30 {
			t.Errorf("partition %d is %d bytes long, want %d", i, length, 3<<30)
		}
	}
}

// partitions returns the lengths of a disk's partitions.
func partitions(t *testing.T, n *testnode.Node, number uint32) []int64 {
	t.Helper()
	tree := n.Tree()
	var lengths []int64
	for _, d := range tree.GetDisks() {
		if d.GetNumber() == number {
			for _, p := range d.GetPartitions() {
				lengths = append(lengths, p.GetSizeBytes())
			}
		}
	}
	return lengths
}

func TestClosestVolume(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	id := mounted(t, n, 1)
	published(t, n)
	mkdir(t, n, staging+`\inside\deep`)
	closest := func(path string) (string, error) {
		reply, err := n.Volume.GetClosestVolumeIDFromTargetPath(t.Context(),
			&volume.GetClosestVolumeIDFromTargetPathRequest{TargetPath: path})
		return reply.GetVolumeId(), err
	}
	drive, err := closest(`C:\var\lib\kubelet`)
	noError(t, err)
	if drive == id {
		t.Fatal("the drive's volume is the mounted one")
	}
	for path, want := range map[string]string{
		staging: id, publish: id, staging + `\inside\deep`: id, publish + `\inside`: id,
		podsPath: drive, `\var\lib\kubelet\plugins\kubernetes.io`: drive,
	} {
		if got, err := closest(path); err != nil || got != want {
			t.Errorf("%s is on %s (%v), want %s", path, got, err, want)
		}
	}
	_, err = closest(podsPath + `\none`)
	wantCode(t, err, codes.NotFound)
	_, err = closest(staging + `\none`)
	wantCode(t, err, codes.NotFound)
	_, err = closest(`C:\Windows`)
	wantCode(t, err, codes.InvalidArgument)
}

func TestOfflineDiskHasNoVolumes(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	id := mounted(t, n, 1)
	noError(t, setState(t, n, 1, false))
	if isSymlink(t, n, staging) {
		t.Error("the volume of an offline disk counts as mounted")
	}
	_, err := n.Volume.IsVolumeFormatted(t.Context(), &volume.IsVolumeFormattedRequest{VolumeId: id})
	wantCode(t, err, codes.NotFound)
	state, err := n.Disk.GetDiskState(t.Context(), &disk.GetDiskStateRequest{DiskNumber: 1})
	noError(t, err)
	if state.GetIsOnline() {
		t.Error("the disk is online")
	}
	noError(t, setState(t, n, 1, true))
	if !isSymlink(t, n, staging) {
		t.Error("the mount point did not come back with its disk")
	}
}

// A volume on an MBR disk, as in-tree drivers made them, grows with its disk, by the control code and by WMI.
func TestResizeOnAnMBR(t *testing.T) {
	for growth, fault := range map[string]testnode.Fault{"the control code": {}, "WMI": neverGrows} {
		n := testnode.Start(t, testnode.Options{})
		if fault.Function != "" {
			n.Faults.Add(fault)
		}
		number := attach(t, n, emulated.DiskSpec{Formatted: true, Table: tableMBR})
		volumes, err := n.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: number})
		noError(t, err)
		id := volumes.GetVolumeIds()[0]
		noError(t, mount(t, n, id, staging))
		n.WriteFile(staging+`\data`, "kept")
		before := volumeSize(t, n, id)
		noError(t, n.Emulated.GrowDisk(number, 2<<30))
		_, err = n.Volume.ResizeVolume(t.Context(), &volume.ResizeVolumeRequest{VolumeId: id})
		noError(t, err)
		if grown := volumeSize(t, n, id) - before; grown != 1<<30 {
			t.Errorf("%s: it grew by %d, want %d", growth, grown, 1<<30)
		}
		if got := n.ReadFile(staging + `\data`); got != "kept" {
			t.Errorf("%s: the data is %q", growth, got)
		}
	}
}
