// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

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
			n := caller.Switched(t, func(s *scenario.Switches) { s.DisksInstallLate = true })
			number := n.Attach(bundle.Spec{})
			has := func() bool {
				ids, err := n.ListDiskIDs()
				n.OK(err)
				return ids[number] != nil
			}
			if has() {
				t.Fatal("the disk is there before it is looked for")
			}
			for _, fault := range c.faults {
				n.Faults.Add(fault)
			}
			n.Code(n.Rescan(), c.code)
			if has() != (c.code == codes.OK) {
				t.Errorf("after Rescan the disk is there: %t", has())
			}
		})
	}
}

// TestAutomountOff: a volume that arrives with its disk is online when it has been listed, and its file system is
// found.
func TestAutomountOff(t *testing.T) {
	t.Parallel()
	n := caller.Switched(t, func(s *scenario.Switches) { s.AutomountOff = true })
	id, other := n.Formatted(1), n.Formatted(2)
	image := n.DetachDisk(1)
	n.Reboot()
	number := n.Attach(bundle.Spec{ImagePath: image})
	n.Code(n.FormatVolume(id), codes.Unavailable) // offline: nothing is known of it
	volumes := n.Volumes(number)
	if is, err := n.IsVolumeFormatted(volumes[0]); err != nil || !is {
		t.Errorf("IsVolumeFormatted = %t, %v", is, err)
	}
	_, err := n.IsVolumeFormatted(other)
	n.Code(err, codes.Unavailable) // nothing was asked of its disk, so it is offline still
	n.OK(n.MountVolume(volumes[0], staging))
	n.Reboot() // a volume with a mount point comes back by itself
	n.WriteFile(staging+`\data`, "kept")
	n.Holds(staging+`\data`, "kept")

	// A volume that refuses is brought online by the storage provider. If that cannot either, the error has both.
	second := n.Attach(bundle.Spec{})
	refusal := testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_VOLUME_ONLINE, Times: 1,
		Error: win32.ERROR_ACCESS_DENIED}
	n.Faults.Add(refusal)
	n.Faults.Add(testnode.Fault{Function: "OnlinePartition", Times: 1, Error: win32.ERROR_NOT_SUPPORTED})
	n.Refused(n.PartitionDisk(second), codes.PermissionDenied, "ACCESS_DENIED", "DeviceIoControl", "OnlinePartition")
	n.Faults.Add(refusal)
	n.Formatted(second)
}

// neverGrows makes IOCTL_DISK_GROW_PARTITION fail; MSFT_Partition.Resize works.
var neverGrows = testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_DISK_GROW_PARTITION,
	Error: win32.ERROR_INVALID_PARAMETER}

// TestGrowingThatWindowsRefuses: when neither the control code nor WMI grows the partition, the error has both.
func TestGrowingThatWindowsRefuses(t *testing.T) {
	t.Parallel()
	n := caller.Start(t, testnode.Options{})
	id := n.Formatted(1)
	n.GrowDisk(1, 11<<30)
	n.Faults.Add(neverGrows)
	n.Faults.Add(testnode.Fault{Function: "ResizePartition", Times: 1, Error: win32.ERROR_NOT_SUPPORTED})
	n.Refused(n.ResizeVolume(id, 0), codes.InvalidArgument, "INVALID_PARAMETER", "DeviceIoControl", "ResizePartition")
	n.OK(n.ResizeVolume(id, 0))
	if size := n.Size(id); size < 10<<30 {
		t.Errorf("the volume has %d bytes", size)
	}
}
