// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"

	"github.com/Microsoft/go-winio/pkg/guid"
	"google.golang.org/grpc/codes"

	nodesteps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// TestMountPointOfAnAbsentVolume: a mount point is another disk's only if its own volume cannot come back.
func TestMountPointOfAnAbsentVolume(t *testing.T) {
	for name, test := range map[string]struct {
		absent func(n *caller.Node) // what becomes of disk 1, which is staged
		kept   bool
		why    string
	}{
		"offline": {func(n *caller.Node) { n.OK(n.SetDiskState(1, false)) }, true, "disk 1, which is offline"},
		"silent": {func(n *caller.Node) {
			n.OK(n.SetDiskState(1, false))
			paths, err := n.Emulated.DiskInterfaces()
			n.OK(err)
			n.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX,
				Object: paths[1], Times: 1, Error: win32.ERROR_IO_DEVICE})
		}, true, "on disk 1, which does not answer"},
		"hidden": {func(n *caller.Node) {
			driveLayout(t, n, 1, func(l *win32.DriveLayout) {
				data := &l.Partitions[len(l.Partitions)-1]
				data.Attributes |= win32.GPT_BASIC_DATA_ATTRIBUTE_HIDDEN
				data.Rewrite = true
			})
		}, true, "disk 1, which has a hidden partition"},
		"gone":                 {func(n *caller.Node) { n.DetachDisk(1) }, false, ""},
		"gone, a blank beside": {func(n *caller.Node) { n.DetachDisk(1); n.Attach(bundle.Spec{Offline: true}) }, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := caller.Start(t, testnode.Options{})
			n.OK(n.StageDisk(1, staging))
			first, err := n.GetVolumeIDFromTargetPath(staging)
			n.OK(err)
			test.absent(n)
			if err := n.StageDisk(2, staging); test.kept {
				n.Refused(err, codes.FailedPrecondition, "OTHER_VOLUME_MOUNTED", test.why)
			} else {
				n.OK(err)
			}
			if at, err := n.GetVolumeIDFromTargetPath(staging); (at == first) != test.kept || err != nil {
				t.Errorf("volume %q is mounted, %v; before: %q", at, err, first)
			}
			if test.kept && name != "hidden" {
				n.OK(n.StageDisk(1, staging)) // the disk's own mount point stays, though it was offline
			}
		})
	}
}

// TestMountPointOfALostTarget: the volume of an iSCSI target comes back with the connection.
func TestMountPointOfALostTarget(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	n.Connected()
	n.OK(n.StageDisk(3, staging))
	first, err := n.GetVolumeIDFromTargetPath(staging)
	n.OK(err)
	n.OK(n.Emulated.SetISCSIPortal(caller.Array, iscsi.DefaultPort, false))
	n.Refused(n.StageDisk(1, staging), codes.FailedPrecondition, "OTHER_VOLUME_MOUNTED", openTarget)
	n.OK(n.Emulated.SetISCSIPortal(caller.Array, iscsi.DefaultPort, true))
	if at, err := n.GetVolumeIDFromTargetPath(staging); at != first || err != nil {
		t.Errorf("volume %q is mounted, %v; before: %q", at, err, first)
	}
	n.DropISCSISession(openTarget)
	n.SetServiceState("MSiSCSI", csiproxytest.ServiceStopped)
	n.OK(n.StageDisk(1, staging)) // a stopped initiator has no disks
}

// TestVolumeThatComesBackMeanwhile: while another disk is partitioned for its path, a volume comes back, and keeps it.
func TestVolumeThatComesBackMeanwhile(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	n.OK(n.StageDisk(1, staging))
	first, err := n.GetVolumeIDFromTargetPath(staging)
	n.OK(err)
	image := n.DetachDisk(1)
	reached, release := n.Hang(csiproxytest.Calls{Function: "DeviceIoControl",
		ControlCode: "IOCTL_DISK_SET_DRIVE_LAYOUT_EX"})
	staged := make(chan error, 1)
	go func() { staged <- n.StageDisk(2, staging) }()
	<-reached
	n.Attach(bundle.Spec{ImagePath: image})
	release()
	n.Refused(<-staged, codes.FailedPrecondition, "OTHER_VOLUME_MOUNTED", first)
	if at, err := n.GetVolumeIDFromTargetPath(staging); at != first || err != nil {
		t.Errorf("volume %q is mounted, %v; before: %q", at, err, first)
	}
}

// TestBlankDiskWithAnMBR: a blank disk that Windows calls MBR has no volumes, as a raw one, for every call.
func TestBlankDiskWithAnMBR(t *testing.T) {
	n := caller.Scenario(t, func(s *scenario.Scenario) { s.Switches.ZeroedDiskIsMBR = true })
	n.OK(n.SetDiskState(1, true))
	if volumes := n.Volumes(1); len(volumes) > 0 {
		t.Errorf("volumes %q", volumes)
	}
	_, err := n.Steps().StageDisk(t.Context(), &nodesteps.StageDiskRequest{Disk: byNumber(1), TargetPath: staging,
		ReadOnly: true})
	n.Refused(err, codes.FailedPrecondition, "NOT_FORMATTED", "disk 1 has no volume")
	n.OK(n.StageDisk(1, staging))
}

// TestForeignPartitions: a disk of Linux, or with a hidden partition, is refused by the name of its partitions.
func TestForeignPartitions(t *testing.T) {
	linux, err := guid.FromString("0fc63daf-8483-4772-8e79-3d69d8477de4")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		mbr    bool
		change func(*win32.Partition)
		code   codes.Code
		reason string
		text   string
	}{
		"GPT, Linux": {false, func(p *win32.Partition) { p.Type = linux }, codes.FailedPrecondition, "NO_DATA_PARTITION",
			"partition 2 is Linux filesystem"},
		"GPT, hidden": {false, func(p *win32.Partition) { p.Attributes |= win32.GPT_BASIC_DATA_ATTRIBUTE_HIDDEN },
			codes.NotFound, "VOLUME_NOT_FOUND", "partition 2 is hidden, by an attribute"},
		"MBR, Linux": {true, func(p *win32.Partition) { p.MBRType = 0x83 }, codes.NotFound, "VOLUME_NOT_FOUND",
			"partition 1 is Linux, MBR type 0x83"},
		"MBR, LVM": {true, func(p *win32.Partition) { p.MBRType = 0x8e }, codes.NotFound, "VOLUME_NOT_FOUND",
			"partition 1 is Linux, MBR type 0x8e"},
		"MBR, hidden": {true, func(p *win32.Partition) { p.MBRType = 0x17 }, codes.NotFound, "VOLUME_NOT_FOUND",
			"partition 1 is hidden, MBR type 0x17"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := bundle.Spec{Formatted: true}
			if test.mbr {
				spec.Table = setting.TableMBR
			}
			n := caller.Start(t, testnode.Options{})
			disk := n.Attach(spec)
			driveLayout(t, n, disk, func(l *win32.DriveLayout) {
				for i := range l.Partitions {
					if p := &l.Partitions[i]; p.Length > 0 && p.IsData() {
						test.change(p)
						p.Rewrite = true
					}
				}
			})
			n.Refused(n.StageDisk(disk, staging), test.code, test.reason, test.text)
		})
	}
}

// TestUnstageFinishesAnEarlierOne: an Unstage that could not take its disk offline is finished by the next one, also when
// another volume is mounted there meanwhile. What has been finished is not done again.
func TestUnstageFinishesAnEarlierOne(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	n.OK(n.StageDisk(1, staging))
	n.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_DISK_SET_DISK_ATTRIBUTES, Times: 1,
		Error: win32.ERROR_IO_DEVICE})
	n.Code(n.Unstage(staging), codes.Unavailable)
	n.OK(n.MountVolume(n.Formatted(2), staging))
	n.OK(n.Unstage(staging))
	for number := range uint32(2) {
		if online, err := n.GetDiskState(number + 1); online || err != nil {
			t.Errorf("disk %d is online: %t, %v", number+1, online, err)
		}
	}
	n.OK(n.SetDiskState(2, true))
	n.OK(n.Unstage(staging))
	if online, err := n.GetDiskState(2); !online || err != nil {
		t.Errorf("the disk that an administrator brought online is online: %t, %v", online, err)
	}
}
