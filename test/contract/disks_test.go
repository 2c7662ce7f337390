// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	fs "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

func partition(t *testing.T, n *testnode.Node, number uint32) error {
	t.Helper()
	_, err := n.Disk.PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: number})
	return err
}

func setState(t *testing.T, n *testnode.Node, number uint32, online bool) error {
	t.Helper()
	_, err := n.Disk.SetDiskState(t.Context(), &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: online})
	return err
}

func attach(t *testing.T, n *testnode.Node, spec emulated.DiskSpec) uint32 {
	t.Helper()
	if spec.SizeBytes == 0 && spec.ImagePath == "" {
		spec.SizeBytes = 1 << 30
	}
	spec.LUNAuto = true
	number, err := n.Emulated.AttachDisk(spec)
	noError(t, err)
	return number
}

func TestSystemDiskStaysAsItIs(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	wantCode(t, setState(t, n, 0, false), codes.FailedPrecondition)
	noError(t, setState(t, n, 0, true))
	wantCode(t, partition(t, n, 0), codes.FailedPrecondition)
	system, err := n.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: 0})
	noError(t, err)
	_, err = n.Volume.MountVolume(t.Context(),
		&volume.MountVolumeRequest{VolumeId: system.GetVolumeIds()[0], TargetPath: staging})
	wantCode(t, err, codes.FailedPrecondition)
	if exists(t, n, staging) {
		t.Error("a refused mount left its directory behind")
	}
}

// TestLostPartitionIsNotOverwritten: a GPT without a data partition is completed only if nothing is where one was.
func TestLostPartitionIsNotOverwritten(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	id := formatted(t, n, 1)
	noError(t, mount(t, n, id, staging))
	var lost win32.Partition
	driveLayout(t, n, 1, func(l *win32.DriveLayout) {
		last := len(l.Partitions) - 1
		lost = l.Partitions[last]
		l.Partitions[last] = win32.Partition{Style: win32.PARTITION_STYLE_GPT, Rewrite: true}
	})
	wantReason(t, partition(t, n, 1), codes.FailedPrecondition, "DISK_NOT_BLANK", "NTFS")
	driveLayout(t, n, 1, func(l *win32.DriveLayout) {
		lost.Rewrite = true
		l.Partitions = append(l.Partitions, lost)
	})
	noError(t, partition(t, n, 1))
	if got := volumesOf(t, n, 1); len(got) != 1 {
		t.Errorf("when the partition is found again, the disk has the volumes %q", got)
	}
}

// A disk that is offline and read-only becomes writable before it comes online: a file system mounted in between would be
// mounted read-only, and a clone would not come online. Media that refuses to be writable comes online as it is.
func TestWritableBeforeOnline(t *testing.T) {
	switches := emulated.DefaultSwitches()
	switches.OfflineDisksReadOnly = true
	o := testnode.Options{Emulated: emulated.Options{Switches: &switches}}
	for name, makeReady := range map[string]func(*testing.T, *testnode.Node) error{
		"SetDiskState":  func(t *testing.T, n *testnode.Node) error { return setState(t, n, 2, true) },
		"PartitionDisk": func(t *testing.T, n *testnode.Node) error { return partition(t, n, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			n := testnode.Start(t, o)
			noError(t, makeReady(t, n))
			var cleared []uint64
			for _, call := range n.Faults.Calls() {
				if call.Code == win32.IOCTL_DISK_SET_DISK_ATTRIBUTES {
					set, err := deviceside.ParseSetDiskAttributes(call.Input)
					noError(t, err)
					cleared = append(cleared, set.AttributesMask)
				}
			}
			if want := []uint64{win32.DISK_ATTRIBUTE_READ_ONLY, win32.DISK_ATTRIBUTE_OFFLINE}; !slices.Equal(cleared, want) {
				t.Errorf("the attributes %d were cleared, want %d", cleared, want)
			}
		})
	}
	t.Run("read-only media", func(t *testing.T) {
		n := testnode.Start(t, o)
		n.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_DISK_SET_DISK_ATTRIBUTES, Times: 2,
			Error: win32.ERROR_WRITE_PROTECT})
		n.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_DISK_SET_DISK_ATTRIBUTES, Skip: 1,
			Error: win32.ERROR_WRITE_PROTECT})
		noError(t, setState(t, n, 2, true))
		state, err := n.Disk.GetDiskState(t.Context(), &disk.GetDiskStateRequest{DiskNumber: 2})
		noError(t, err)
		if !state.GetIsOnline() {
			t.Error("the disk is offline")
		}
		if err := partition(t, n, 2); err == nil {
			t.Error("a read-only disk was partitioned")
		}
	})
}

// After the first step that fails, the next call finds the disk as it was left and completes it.
func TestInterruptedPartitioningIsCompleted(t *testing.T) {
	for name, fault := range map[string]testnode.Fault{
		"after the table was made":      {Function: "DeviceIoControl", Code: win32.IOCTL_DISK_CREATE_DISK, After: true},
		"before the partition was made": {Function: "DeviceIoControl", Code: win32.IOCTL_DISK_SET_DRIVE_LAYOUT_EX},
		"after the partition was made": {Function: "DeviceIoControl",
			Code: win32.IOCTL_DISK_SET_DRIVE_LAYOUT_EX, After: true},
		"before Windows knew of it":       {Function: "DeviceIoControl", Code: win32.IOCTL_DISK_UPDATE_PROPERTIES, Skip: 2},
		"while the volume was waited for": {Function: "VolumeNames"},
		"after the disk was brought online": {Function: "DeviceIoControl",
			Code: win32.IOCTL_DISK_SET_DISK_ATTRIBUTES, After: true},
	} {
		for _, msr := range []string{emulated.MSRImmediate, emulated.MSRDelayed} {
			t.Run(name+", MSR "+msr, func(t *testing.T) {
				switches := emulated.DefaultSwitches()
				switches.MSR = msr
				n := testnode.Start(t, testnode.Options{Emulated: emulated.Options{Switches: &switches}})
				fault.Times, fault.Error = 1, win32.ERROR_IO_DEVICE
				n.Faults.Add(fault)
				wantCode(t, partition(t, n, 2), codes.Unavailable)
				n.Faults.Release()
				noError(t, partition(t, n, 2))
				noError(t, setState(t, n, 2, true))
				volumes, err := n.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: 2})
				noError(t, err)
				if len(volumes.GetVolumeIds()) != 1 {
					t.Errorf("volumes %q, want one", volumes.GetVolumeIds())
				}
			})
		}
	}
}

// Whatever Windows does where its documentation is silent, a volume's life is the same.
func TestLifeOnEverySwitchOfTheOpenQuestions(t *testing.T) {
	answers := map[string]func(*emulated.Switches){
		"attributes version 16":          func(s *emulated.Switches) { s.AttributesVersion = 16 },
		"CREATE_DISK clears":             func(s *emulated.Switches) { s.CreateDiskClears = true },
		"clones come online read-only":   func(s *emulated.Switches) { s.ClonesNeedWritable = false },
		"offline disks are read-only":    func(s *emulated.Switches) { s.OfflineDisksReadOnly = true },
		"a zeroed disk reads as MBR":     func(s *emulated.Switches) { s.ZeroedDiskIsMBR = true },
		"the reserved partition is late": func(s *emulated.Switches) { s.MSR = emulated.MSRDelayed },
		"no reserved partition":          func(s *emulated.Switches) { s.MSR = emulated.MSRNever },
		"growing refreshes":              func(s *emulated.Switches) { s.GrowPartitionRefreshes = true },
		"extend wants one sector less":   func(s *emulated.Switches) { s.ExtendOneSectorLess = true },
		"it comes with the layout":       func(s *emulated.Switches) { s.MSR = emulated.MSRLate },
		"volumes arrive late":            func(s *emulated.Switches) { s.VolumesArriveLate = true },
		"automount is off":               func(s *emulated.Switches) { s.AutomountOff = true },
		"the held leaf is objected to":   func(s *emulated.Switches) { s.MountPointCallsDelete = true },
		"all of them the other way at once": func(s *emulated.Switches) {
			s.AttributesVersion, s.CreateDiskClears, s.OfflineDisksReadOnly, s.ZeroedDiskIsMBR = 16, true, true, true
			s.MSR, s.GrowPartitionRefreshes, s.ExtendOneSectorLess = emulated.MSRDelayed, true, true
			s.VolumesArriveLate, s.AutomountOff, s.ClonesNeedWritable = true, true, false
			s.MappingsOutliveReboot, s.EmptyRootNotFound = false, false
		},
	}
	for i, name := range slices.Sorted(maps.Keys(answers)) {
		if !testnode.Sampled(t, i, 0, 1) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			switches := emulated.DefaultSwitches()
			answers[name](&switches)
			n := testnode.Start(t, testnode.Options{Emulated: emulated.Options{Switches: &switches}})
			for _, sectorSize := range []uint32{512, 4096} {
				number := attach(t, n, emulated.DiskSpec{SectorSize: sectorSize, Offline: true})
				id := mounted(t, n, number)
				n.WriteFile(staging+`\data`, "kept")
				before := volumeSize(t, n, id)
				noError(t, n.Emulated.GrowDisk(number, 2<<30))
				_, err := n.Volume.ResizeVolume(t.Context(), &volume.ResizeVolumeRequest{VolumeId: id})
				noError(t, err)
				if grown := volumeSize(t, n, id) - before; grown != 1<<30 {
					t.Errorf("sectors of %d bytes: grew by %d, want %d", sectorSize, grown, 1<<30)
				}
				if got := n.ReadFile(staging + `\data`); got != "kept" {
					t.Errorf("the data is %q", got)
				}
				_, err = n.Volume.UnmountVolume(t.Context(), &volume.UnmountVolumeRequest{VolumeId: id, TargetPath: staging})
				noError(t, err)
				noError(t, setState(t, n, number, false))
			}
		})
	}
}

func volumeSize(t *testing.T, n *testnode.Node, id string) int64 {
	t.Helper()
	stats, err := n.Volume.GetVolumeStats(t.Context(), &volume.GetVolumeStatsRequest{VolumeId: id})
	noError(t, err)
	return stats.GetTotalBytes()
}

func TestDiskNumbersAreReused(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	third := attach(t, n, emulated.DiskSpec{})
	fourth := attach(t, n, emulated.DiskSpec{})
	if third != 3 || fourth != 4 {
		t.Fatalf("disks %d and %d, want 3 and 4", third, fourth)
	}
	image, err := n.Emulated.DetachDisk(3)
	noError(t, err)
	_, err = n.Disk.GetDiskState(t.Context(), &disk.GetDiskStateRequest{DiskNumber: 3})
	wantCode(t, err, codes.NotFound)
	n.Reboot()
	if _, err := n.Disk.GetDiskState(t.Context(), &disk.GetDiskStateRequest{DiskNumber: 4}); err != nil {
		t.Errorf("after the reboot disk 4 is gone: %v", err)
	}
	if again := attach(t, n, emulated.DiskSpec{ImagePath: image}); again != 3 {
		t.Errorf("the disk came back as %d, want the free number 3", again)
	}
}

// A clone of a disk comes online as a disk of its own, with the data, although Windows lets it only while it is
// writable.
func TestCloneOfADisk(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	original := attach(t, n, emulated.DiskSpec{SizeBytes: 64 << 20})
	id := mounted(t, n, original)
	image, err := n.Emulated.DiskImage(original)
	noError(t, err)
	content, err := os.ReadFile(image)
	noError(t, err)
	copied := n.StateDir + "/clone.img"
	noError(t, os.WriteFile(copied, content, 0o600))
	number := attach(t, n, emulated.DiskSpec{ImagePath: copied})
	noError(t, setState(t, n, number, true))
	volumes, err := n.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: number})
	noError(t, err)
	if volumes.GetVolumeIds()[0] == id {
		t.Errorf("the clone's volume has the id of the original, %s", id)
	}
	formattedClone, err := n.Volume.IsVolumeFormatted(t.Context(),
		&volume.IsVolumeFormattedRequest{VolumeId: volumes.GetVolumeIds()[0]})
	noError(t, err)
	if !formattedClone.GetFormatted() {
		t.Error("the clone's volume is not formatted")
	}
	if !isSymlink(t, n, staging) {
		t.Error("the original is no longer mounted")
	}
}

func TestListingsSurviveAFailingDisk(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	n.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_STORAGE_GET_DEVICE_NUMBER, Times: 1,
		Error: win32.ERROR_INVALID_FUNCTION})
	ids, err := n.Disk.ListDiskIDs(t.Context(), &disk.ListDiskIDsRequest{})
	noError(t, err)
	if len(ids.GetDiskIDs()) != 2 {
		t.Errorf("%d disks, want the other two", len(ids.GetDiskIDs()))
	}
	n.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_STORAGE_GET_DEVICE_NUMBER, Times: 3,
		Error: win32.ERROR_IO_DEVICE})
	_, err = n.Disk.ListDiskIDs(t.Context(), &disk.ListDiskIDsRequest{})
	wantCode(t, err, codes.Unavailable)
	// Without a SCSI address there is no location, rather than a guessed one.
	n.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_SCSI_GET_ADDRESS, Times: 1,
		Error: win32.ERROR_NOT_SUPPORTED})
	locations, err := n.Disk.ListDiskLocations(t.Context(), &disk.ListDiskLocationsRequest{})
	noError(t, err)
	if len(locations.GetDiskLocations()) != 2 {
		t.Errorf("%d locations, want the other two", len(locations.GetDiskLocations()))
	}
}

// A disk that goes away in the middle of partitioning is reported at once, not after the wait for its volume.
func TestSurpriseRemovalEndsTheWaitForVolumes(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	reached, release := n.Faults.Hang("VolumeNames")
	result := make(chan error, 1)
	go func() { result <- partition(t, n, 1) }()
	<-reached
	_, err := n.Emulated.DetachDisk(1)
	noError(t, err)
	release()
	wantCode(t, <-result, codes.Unavailable)
}

func TestReadOnlyDiskIsNotWritten(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	id := mounted(t, n, 1)
	n.Faults.Add(testnode.Fault{Function: "Flush", Times: 1, Error: win32.ERROR_WRITE_PROTECT})
	_, err := n.Volume.WriteVolumeCache(t.Context(), &volume.WriteVolumeCacheRequest{VolumeId: id})
	noError(t, err) // a write-protected volume has nothing to flush
	_, err = n.Volume.WriteVolumeCache(t.Context(),
		&volume.WriteVolumeCacheRequest{VolumeId: strings.Replace(id, "{", "{0", 1)})
	wantCode(t, err, codes.InvalidArgument)
}

func TestFilesystemGroupVersions(t *testing.T) {
	n := testnode.Start(t, testnode.Options{WorkingDirs: []string{`D:\local`}})
	_, err := n.Filesystem.PathExists(t.Context(), &fs.PathExistsRequest{Path: `E:\local\x`})
	wantCode(t, err, codes.InvalidArgument)
}
