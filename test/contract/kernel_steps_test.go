// SPDX-License-Identifier: Apache-2.0

package contract

import (
	nodesteps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// stepExamples has the steps that ask the kernel what no call of another group asks.
func stepExamples() []kernelExample {
	staged := func(w *exampleNode) { w.OK(w.StageDisk(1, stagingDir)) }
	usage := func(w *exampleNode) error { _, _, err := w.GetVolume(stagingDir); return err }
	stage := func(r *nodesteps.StageDiskRequest) func(w *exampleNode) error {
		r.TargetPath = stagingDir
		return func(w *exampleNode) error { _, err := w.Steps().StageDisk(w.Context(), r); return err }
	}
	return []kernelExample{
		{"GetVolume", "a link to a share", func(w *exampleNode) { w.OK(w.Map(caller.Share, stagingDir)) }, usage},
		{"GetVolume", "a mount point", staged, usage},
		{"StageDisk", "with an access list, mounted and still empty", staged,
			stage(&nodesteps.StageDiskRequest{Disk: byNumber(1), Access: forContainerUser()})},
		{"StageDisk", "by Azure's LUN, on azure-nvme", nil, stage(&nodesteps.StageDiskRequest{
			Disk: &nodesteps.StageDiskRequest_AzureLun{}})},
		{"StageDisk", "by the model of an instance store, on aws-ebs-nvme", nil, stage(&nodesteps.StageDiskRequest{
			Disk: &nodesteps.StageDiskRequest_Model{Model: "Amazon EC2 NVMe Instance Storage"}})},
	}
}

func byNumber(number uint32) *nodesteps.StageDiskRequest_DiskNumber {
	return &nodesteps.StageDiskRequest_DiskNumber{DiskNumber: number}
}

// forContainerUser is an access list with one entry.
func forContainerUser() []*nodesteps.AccessEntry {
	return []*nodesteps.AccessEntry{{Sid: "S-1-5-93-2-2", Rights: nodesteps.AccessRights_ACCESS_RIGHTS_MODIFY}}
}
