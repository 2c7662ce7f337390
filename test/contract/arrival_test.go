// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"

	"google.golang.org/grpc/codes"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	volume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// switched starts a node whose Windows gives other answers to open questions.
func switched(t *testing.T, set func(*emulated.Switches)) *testnode.Node {
	t.Helper()
	switches := emulated.DefaultSwitches()
	set(&switches)
	return testnode.Start(t, testnode.Options{Emulated: emulated.Options{Switches: &switches}})
}

// TestRescanFindsNewDisks: when it returns, they are there, even if Windows does not enumerate its
// devices, and even if other devices are still being installed.
func TestRescanFindsNewDisks(t *testing.T) {
	for name, c := range map[string]struct {
		faults []testnode.Fault
		code   codes.Code
	}{
		"as usual": {nil, codes.OK},
		"enumeration refused": {[]testnode.Fault{
			{Function: "ReenumerateDevices", Times: 1, Error: win32.ERROR_ACCESS_DENIED},
		}, codes.OK},
		"enumeration refused, storage too": {[]testnode.Fault{
			{Function: "ReenumerateDevices", Times: 1, Error: win32.ERROR_ACCESS_DENIED},
			{Function: "UpdateStorageCache", Times: 1, Error: win32.ERROR_NOT_SUPPORTED},
		}, codes.PermissionDenied},
		"something else is being installed": {[]testnode.Fault{
			{Function: "WaitForDeviceInstalls", Times: 1, Error: win32.ERROR_TIMEOUT, After: true},
		}, codes.OK},
	} {
		t.Run(name, func(t *testing.T) {
			n := switched(t, func(s *emulated.Switches) { s.DisksInstallLate = true })
			number := attach(t, n, emulated.DiskSpec{})
			has := func() bool {
				ids, err := n.Disk.ListDiskIDs(t.Context(), &disk.ListDiskIDsRequest{})
				noError(t, err)
				return ids.GetDiskIDs()[number] != nil
			}
			if has() {
				t.Fatal("the disk is there before it is looked for")
			}
			for _, fault := range c.faults {
				n.Faults.Add(fault)
			}
			_, err := n.Disk.Rescan(t.Context(), &disk.RescanRequest{})
			wantCode(t, err, c.code)
			if has() != (c.code == codes.OK) {
				t.Errorf("after Rescan: %v, the disk is there: %t", err, has())
			}
		})
	}
}

// TestAutomountOff: a volume that arrives with its disk is online when it has been listed, and its file system is
// found.
func TestAutomountOff(t *testing.T) {
	t.Parallel()
	n := switched(t, func(s *emulated.Switches) { s.AutomountOff = true })
	id, other := formatted(t, n, 1), formatted(t, n, 2)
	image, err := n.Emulated.DetachDisk(1)
	noError(t, err)
	n.Reboot()
	number := attach(t, n, emulated.DiskSpec{ImagePath: image})
	wantCode(t, formatVolume(t, n, id), codes.Unavailable) // offline: nothing is known of it
	volumes, err := n.Volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: number})
	noError(t, err)
	reply, err := n.Volume.IsVolumeFormatted(t.Context(),
		&volume.IsVolumeFormattedRequest{VolumeId: volumes.GetVolumeIds()[0]})
	if err != nil || !reply.GetFormatted() {
		t.Errorf("IsVolumeFormatted = %v, %v", reply.GetFormatted(), err)
	}
	_, err = n.Volume.IsVolumeFormatted(t.Context(), &volume.IsVolumeFormattedRequest{VolumeId: other})
	wantCode(t, err, codes.Unavailable) // nothing was asked of its disk, so it is offline still
	noError(t, mount(t, n, volumes.GetVolumeIds()[0], staging))
	n.Reboot() // a volume with a mount point comes back by itself
	n.WriteFile(staging+`\data`, "kept")
	if got := n.ReadFile(staging + `\data`); got != "kept" {
		t.Errorf("the data is %q", got)
	}

	// A volume that refuses is brought online by the storage provider. If that cannot either, the error has both.
	second := attach(t, n, emulated.DiskSpec{})
	refusal := testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_VOLUME_ONLINE, Times: 1,
		Error: win32.ERROR_ACCESS_DENIED}
	n.Faults.Add(refusal)
	n.Faults.Add(testnode.Fault{Function: "OnlinePartition", Times: 1, Error: win32.ERROR_NOT_SUPPORTED})
	wantReason(t, partition(t, n, second), codes.PermissionDenied, "ACCESS_DENIED", "DeviceIoControl", "OnlinePartition")
	n.Faults.Add(refusal)
	formatted(t, n, second)
}

// TestVolumesThatArriveLate: partitioning, bringing online and growing return when the volume is there.
func TestVolumesThatArriveLate(t *testing.T) {
	t.Parallel()
	n := switched(t, func(s *emulated.Switches) { s.VolumesArriveLate = true })
	id := mounted(t, n, 1)
	noError(t, n.Emulated.GrowDisk(1, 11<<30))
	_, err := n.Volume.ResizeVolume(t.Context(), &volume.ResizeVolumeRequest{VolumeId: id})
	noError(t, err)
	_, err = n.Volume.UnmountVolume(t.Context(), &volume.UnmountVolumeRequest{VolumeId: id, TargetPath: staging})
	noError(t, err)
	noError(t, setState(t, n, 1, false))
	noError(t, setState(t, n, 1, true))
	if size := volumeSize(t, n, id); size < 10<<30 {
		t.Errorf("the volume has %d bytes", size)
	}
}

// neverGrows makes IOCTL_DISK_GROW_PARTITION fail; MSFT_Partition.Resize works.
var neverGrows = testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_DISK_GROW_PARTITION,
	Error: win32.ERROR_INVALID_PARAMETER}

// TestGrowingThatWindowsRefuses: when neither the control code nor WMI grows the partition, the error has both.
func TestGrowingThatWindowsRefuses(t *testing.T) {
	t.Parallel()
	n := testnode.Start(t, testnode.Options{})
	id := formatted(t, n, 1)
	noError(t, n.Emulated.GrowDisk(1, 11<<30))
	n.Faults.Add(neverGrows)
	n.Faults.Add(testnode.Fault{Function: "ResizePartition", Times: 1, Error: win32.ERROR_NOT_SUPPORTED})
	_, err := n.Volume.ResizeVolume(t.Context(), &volume.ResizeVolumeRequest{VolumeId: id})
	wantReason(t, err, codes.InvalidArgument, "INVALID_PARAMETER", "DeviceIoControl", "ResizePartition")
	_, err = n.Volume.ResizeVolume(t.Context(), &volume.ResizeVolumeRequest{VolumeId: id})
	noError(t, err)
	if size := volumeSize(t, n, id); size < 10<<30 {
		t.Errorf("the volume has %d bytes", size)
	}
}
