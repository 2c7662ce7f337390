// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"

	"github.com/Microsoft/go-winio/pkg/guid"
	"google.golang.org/grpc/codes"

	nodesteps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// TestMountPointOfAnAbsentVolume: a mount point is another disk's only if its own volume cannot come back.
func TestMountPointOfAnAbsentVolume(t *testing.T) {
	for name, test := range map[string]struct {
		absent func(n *caller.Node) // what becomes of disk 1, which is staged
		kept   bool
	}{
		"offline": {func(n *caller.Node) { n.OK(n.SetDiskState(1, false)) }, true},
		"silent": {func(n *caller.Node) {
			n.OK(n.SetDiskState(1, false))
			n.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX,
				Times: 1, Error: win32.ERROR_IO_DEVICE})
		}, true},
		"gone":                 {func(n *caller.Node) { n.DetachDisk(1) }, false},
		"gone, a blank beside": {func(n *caller.Node) { n.DetachDisk(1); n.Attach(bundle.Spec{Offline: true}) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := caller.Start(t, testnode.Options{})
			n.OK(n.StageDisk(1, staging))
			first, err := n.GetVolumeIDFromTargetPath(staging)
			n.OK(err)
			test.absent(n)
			if err := n.StageDisk(2, staging); test.kept {
				n.Refused(err, codes.FailedPrecondition, "OTHER_VOLUME_MOUNTED", first)
			} else {
				n.OK(err)
			}
			if at, err := n.GetVolumeIDFromTargetPath(staging); (at == first) != test.kept || err != nil {
				t.Errorf("volume %q is mounted, %v; before: %q", at, err, first)
			}
			if test.kept {
				n.OK(n.StageDisk(1, staging)) // the disk's own mount point stays, though it was offline
			}
		})
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

// TestForeignPartitions: a disk of Linux is refused by the name of its partitions.
func TestForeignPartitions(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	n.Formatted(1)
	linux, err := guid.FromString("0fc63daf-8483-4772-8e79-3d69d8477de4")
	n.OK(err)
	driveLayout(t, n, 1, func(l *win32.DriveLayout) {
		data := &l.Partitions[len(l.Partitions)-1]
		data.Type, data.Rewrite = linux, true
	})
	n.Refused(n.StageDisk(1, staging), codes.FailedPrecondition, "NO_DATA_PARTITION", "is Linux filesystem")
}
