// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"

	"google.golang.org/grpc/codes"

	disk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	nodesteps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// A caller that found a disk by itself says which one it means by the number; another disk is left alone.
func TestStageDiskWithExpectedMarks(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	disks, err := n.Disk.ListDiskIDs(t.Context(), &disk.ListDiskIDsRequest{})
	noError(t, err)
	stage := func(r *nodesteps.StageDiskRequest, marksOf uint32, readOnly bool) error {
		is := disks.GetDiskIDs()[marksOf]
		r.TargetPath, r.ReadOnly = staging, readOnly
		r.Expected = &nodesteps.DiskMarks{SerialNumber: is.GetSerialNumber(), Page83Id: is.GetPage83()}
		_, err := n.Client().NodeSteps.StageDisk(t.Context(), r)
		return err
	}
	byNumber := &nodesteps.StageDiskRequest{Disk: &nodesteps.StageDiskRequest_DiskNumber{DiskNumber: 2}}
	for _, readOnly := range []bool{false, true} {
		wantReason(t, stage(byNumber, 1, readOnly), codes.Unavailable, "DISK_CHANGED")
	}
	if d := n.Tree().GetDisks()[2]; d.GetOnline() || d.GetStyle() != "RAW" {
		t.Errorf("another disk was changed: %v", d)
	}
	wantReason(t, stage(&nodesteps.StageDiskRequest{Disk: &nodesteps.StageDiskRequest_Lun{Lun: 2}}, 2, false),
		codes.InvalidArgument, "INVALID_ARGUMENT")
	noError(t, stage(byNumber, 2, false))
}
