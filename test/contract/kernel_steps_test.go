// SPDX-License-Identifier: Apache-2.0

package contract

import nodesteps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"

// stepExamples has the steps that ask the kernel what no call of another group asks.
func stepExamples() []kernelExample {
	return []kernelExample{
		{"GetUsage", "a link to a share", func(w *exampleNode) {
			w.must(mapRemote(anyShare, stagingDir, "csi-password")(w))
		}, usageOfStaged},
		{"GetUsage", "a mount point", func(w *exampleNode) {
			w.must(stageBy(&nodesteps.StageDiskRequest{Disk: byNumber(1)})(w))
		}, usageOfStaged},
		{"StageDisk", "with an access list, mounted and still empty", func(w *exampleNode) {
			w.must(stageBy(&nodesteps.StageDiskRequest{Disk: byNumber(1)})(w))
		}, stageForUser},
		{"StageDisk", "by Azure's LUN, on azure-nvme", nil, stageBy(&nodesteps.StageDiskRequest{
			Disk: &nodesteps.StageDiskRequest_AzureLun{}})},
		{"StageDisk", "by the model of an instance store, on aws-ebs-nvme", nil,
			stageBy(&nodesteps.StageDiskRequest{
				Disk: &nodesteps.StageDiskRequest_Model{Model: "Amazon EC2 NVMe Instance Storage"}})},
	}
}

func byNumber(number uint32) *nodesteps.StageDiskRequest_DiskNumber {
	return &nodesteps.StageDiskRequest_DiskNumber{DiskNumber: number}
}

func stageBy(r *nodesteps.StageDiskRequest) func(w *exampleNode) error {
	r.TargetPath = stagingDir
	return func(w *exampleNode) error {
		_, err := w.Client().NodeSteps.StageDisk(w.ctx, r)
		return err
	}
}

// forContainerUser is an access list with one entry.
func forContainerUser() []*nodesteps.AccessEntry {
	return []*nodesteps.AccessEntry{{Sid: "S-1-5-93-2-2", Rights: nodesteps.AccessRights_ACCESS_RIGHTS_MODIFY}}
}

func stageForUser(w *exampleNode) error {
	return stageBy(&nodesteps.StageDiskRequest{Disk: byNumber(1), Access: forContainerUser()})(w)
}

func usageOfStaged(w *exampleNode) error {
	_, err := w.Client().NodeSteps.GetUsage(w.ctx, &nodesteps.GetUsageRequest{TargetPath: stagingDir})
	return err
}
