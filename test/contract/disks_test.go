// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// TestLostPartitionIsNotOverwritten: a GPT without a data partition is completed only if nothing is where one was.
func TestLostPartitionIsNotOverwritten(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	id := n.Formatted(1)
	n.OK(n.MountVolume(id, staging))
	var lost win32.Partition
	driveLayout(t, n, 1, func(l *win32.DriveLayout) {
		last := len(l.Partitions) - 1
		lost = l.Partitions[last]
		l.Partitions[last] = win32.Partition{Style: win32.PARTITION_STYLE_GPT, Rewrite: true}
	})
	n.Refused(n.PartitionDisk(1), codes.FailedPrecondition, "DISK_NOT_BLANK", "NTFS")
	driveLayout(t, n, 1, func(l *win32.DriveLayout) {
		lost.Rewrite = true
		l.Partitions = append(l.Partitions, lost)
	})
	n.OK(n.PartitionDisk(1))
	if got := n.Volumes(1); len(got) != 1 {
		t.Errorf("when the partition is found again, the disk has the volumes %q", got)
	}
}

// A disk that is offline and read-only becomes writable before it comes online: a file system mounted in between would
// be read-only, and a clone would not come online. Media that refuses to be writable comes online as it is.
func TestWritableBeforeOnline(t *testing.T) {
	start := func(t *testing.T) *caller.Node {
		return caller.Switched(t, func(s *scenario.Switches) { s.OfflineDisksReadOnly = true })
	}
	for name, makeReady := range map[string]func(*caller.Node) error{
		"SetDiskState":  func(n *caller.Node) error { return n.SetDiskState(2, true) },
		"PartitionDisk": func(n *caller.Node) error { return n.PartitionDisk(2) },
	} {
		t.Run(name, func(t *testing.T) {
			n := start(t)
			n.OK(makeReady(n))
			var cleared []uint64
			for _, call := range n.Faults.Calls() {
				if call.Code == win32.IOCTL_DISK_SET_DISK_ATTRIBUTES {
					set, err := deviceside.Parse[win32.SetDiskAttributes](call.Input)
					n.OK(err)
					cleared = append(cleared, set.AttributesMask)
				}
			}
			if want := []uint64{win32.DISK_ATTRIBUTE_READ_ONLY, win32.DISK_ATTRIBUTE_OFFLINE}; !slices.Equal(cleared, want) {
				t.Errorf("the attributes %d were cleared, want %d", cleared, want)
			}
		})
	}
	t.Run("read-only media", func(t *testing.T) {
		n := start(t)
		n.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_DISK_SET_DISK_ATTRIBUTES, Times: 2,
			Error: win32.ERROR_WRITE_PROTECT})
		n.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_DISK_SET_DISK_ATTRIBUTES, Skip: 1,
			Error: win32.ERROR_WRITE_PROTECT})
		n.OK(n.SetDiskState(2, true))
		if online, err := n.GetDiskState(2); err != nil || !online {
			t.Errorf("the disk is online: %t, %v", online, err)
		}
		if err := n.PartitionDisk(2); err == nil {
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
		"before Windows knew of it": {Function: "DeviceIoControl", Code: win32.IOCTL_DISK_UPDATE_PROPERTIES, Skip: 2},
		"after the disk was brought online": {Function: "DeviceIoControl",
			Code: win32.IOCTL_DISK_SET_DISK_ATTRIBUTES, After: true},
	} {
		for _, msr := range []string{scenario.MSRImmediate, scenario.MSRDelayed} {
			t.Run(name+", MSR "+msr, func(t *testing.T) {
				n := caller.Switched(t, func(s *scenario.Switches) { s.MSR = msr })
				fault.Times, fault.Error = 1, win32.ERROR_IO_DEVICE
				n.Faults.Add(fault)
				n.Code(n.PartitionDisk(2), codes.Unavailable)
				n.Faults.Release()
				n.OK(n.PartitionDisk(2))
				n.OK(n.SetDiskState(2, true))
				if volumes := n.Volumes(2); len(volumes) != 1 {
					t.Errorf("volumes %q, want one", volumes)
				}
			})
		}
	}
}

// Whatever Windows does where its documentation is silent, a volume's life is the same.
func TestLifeOnEverySwitchOfTheOpenQuestions(t *testing.T) {
	answers := map[string]func(*scenario.Switches){
		"attributes version 16":          func(s *scenario.Switches) { s.AttributesVersion = 16 },
		"CREATE_DISK clears":             func(s *scenario.Switches) { s.CreateDiskClears = true },
		"clones come online read-only":   func(s *scenario.Switches) { s.ClonesNeedWritable = false },
		"offline disks are read-only":    func(s *scenario.Switches) { s.OfflineDisksReadOnly = true },
		"a zeroed disk reads as MBR":     func(s *scenario.Switches) { s.ZeroedDiskIsMBR = true },
		"the reserved partition is late": func(s *scenario.Switches) { s.MSR = scenario.MSRDelayed },
		"no reserved partition":          func(s *scenario.Switches) { s.MSR = scenario.MSRNever },
		"growing refreshes":              func(s *scenario.Switches) { s.GrowPartitionRefreshes = true },
		"extend wants one sector less":   func(s *scenario.Switches) { s.ExtendOneSectorLess = true },
		"it comes with the layout":       func(s *scenario.Switches) { s.MSR = scenario.MSRLate },
		"volumes arrive late":            func(s *scenario.Switches) { s.VolumesArriveLate = true },
		"automount is off":               func(s *scenario.Switches) { s.AutomountOff = true },
		"the held leaf is objected to":   func(s *scenario.Switches) { s.MountPointCallsDelete = true },
		"all of them the other way at once": func(s *scenario.Switches) {
			s.AttributesVersion, s.CreateDiskClears, s.OfflineDisksReadOnly, s.ZeroedDiskIsMBR = 16, true, true, true
			s.MSR, s.GrowPartitionRefreshes, s.ExtendOneSectorLess = scenario.MSRDelayed, true, true
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
			n := caller.Switched(t, answers[name])
			for _, sectorSize := range []uint32{512, 4096} {
				number := n.Attach(bundle.Spec{SectorSize: sectorSize, Offline: true})
				id := n.Mounted(number)
				n.WriteFile(staging+`\data`, "kept")
				before := n.Size(id)
				n.GrowDisk(number, 2<<30)
				n.OK(n.ResizeVolume(id, 0))
				if grown := n.Size(id) - before; grown != 1<<30 {
					t.Errorf("sectors of %d bytes: grew by %d, want %d", sectorSize, grown, 1<<30)
				}
				n.Holds(staging+`\data`, "kept")
				n.OK(n.UnmountVolume(id, staging))
				n.OK(n.SetDiskState(number, false))
				n.OK(n.SetDiskState(number, true))
				if size := n.Size(id); size != before+1<<30 {
					t.Errorf("sectors of %d bytes: back online with %d bytes, want %d", sectorSize, size, before+1<<30)
				}
				n.OK(n.SetDiskState(number, false))
			}
		})
	}
}

func TestListingsSurviveAFailingDisk(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	n.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_STORAGE_GET_DEVICE_NUMBER, Times: 1,
		Error: win32.ERROR_INVALID_FUNCTION})
	ids, err := n.ListDiskIDs()
	n.OK(err)
	if len(ids) != 2 {
		t.Errorf("%d disks, want the other two", len(ids))
	}
	n.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_STORAGE_GET_DEVICE_NUMBER, Times: 3,
		Error: win32.ERROR_IO_DEVICE})
	_, err = n.ListDiskIDs()
	n.Code(err, codes.Unavailable)
	// Without a SCSI address there is no location, rather than a guessed one.
	n.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_SCSI_GET_ADDRESS, Times: 1,
		Error: win32.ERROR_NOT_SUPPORTED})
	locations, err := n.ListDiskLocations()
	n.OK(err)
	if len(locations) != 2 {
		t.Errorf("%d locations, want the other two", len(locations))
	}
}

// A disk that goes away in the middle of partitioning is reported at once, not after the wait for its volume.
func TestSurpriseRemovalEndsTheWaitForVolumes(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	reached, release := n.Faults.Add(testnode.Fault{Function: "DeviceIoControl",
		Code: win32.IOCTL_MOUNTDEV_QUERY_DEVICE_NAME, Times: 1, Hang: true})
	result := make(chan error, 1)
	go func() { result <- n.PartitionDisk(1) }()
	<-reached
	n.DetachDisk(1)
	release()
	n.Code(<-result, codes.Unavailable)
}

func TestReadOnlyDiskIsNotWritten(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	id := n.Mounted(1)
	n.Faults.Add(testnode.Fault{Function: "Flush", Times: 1, Error: win32.ERROR_WRITE_PROTECT})
	n.OK(n.WriteVolumeCache(id)) // a write-protected volume has nothing to flush
	n.Code(n.WriteVolumeCache(strings.Replace(id, "{", "{0", 1)), codes.InvalidArgument)
}
