// SPDX-License-Identifier: Apache-2.0

package examples

import (
	stepsapi "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// steps are those of a CSI node service. A step is many calls of the kernel, so a disturbance leaves it half done.
func steps() []Example {
	stage := func(n *Node) error { return n.StageDisk(TheDisk, Staging) }
	publish := func(n *Node) error { return n.Publish(Staging, Publish) }
	grown := func(n *Node) { InUse(n); n.Grow() }
	usage := func(path string) func(*Node) error {
		return func(n *Node) error { _, _, err := n.GetVolume(path); return err }
	}
	nvme := func(model string) func(*Node) {
		return func(n *Node) {
			_, err := n.Emulated.AttachDisk(bundle.Spec{SizeBytes: DiskBytes, Adapter: 7, LUN: 1, BusType: win32.BusTypeNvme,
				Model: model})
			n.OK(err)
		}
	}
	const azure, amazon = "MSFT NVMe Accelerator v1.0", "Amazon EC2 NVMe Instance Storage"
	forUser := stageDisk(&stepsapi.StageDiskRequest{Disk: &stepsapi.StageDiskRequest_DiskNumber{DiskNumber: TheDisk},
		Access: []*stepsapi.AccessEntry{{Sid: "S-1-5-93-2-2", Rights: stepsapi.AccessRights_ACCESS_RIGHTS_MODIFY}}})
	return []Example{
		{Method: "nodesteps/StageDisk", When: "blank", Call: stage, OnTheDisk: true, Sparse: 15},
		{Method: "nodesteps/StageDisk", When: "in use, the disk has grown", Prepare: grown, Call: stage, OnTheDisk: true,
			Sparse: 15},
		{Method: "nodesteps/StageDisk", When: "blank, with an access list", Call: forUser, OnTheDisk: true, Sparse: 15},
		{Method: "nodesteps/StageDisk", When: "with an access list, mounted and still empty", Prepare: do(stage),
			Call: forUser, OnTheDisk: true, Sparse: 15, Asks: true},
		{Method: "nodesteps/StageDisk", When: "blank, by the LUN of an NVMe disk in Azure", Prepare: nvme(azure),
			Call: stageDisk(&stepsapi.StageDiskRequest{Disk: &stepsapi.StageDiskRequest_AzureLun{}}), Sparse: 15, Asks: true},
		{Method: "nodesteps/StageDisk", When: "blank, by the model of an instance store", Prepare: nvme(amazon),
			Call: stageDisk(&stepsapi.StageDiskRequest{Disk: &stepsapi.StageDiskRequest_Model{Model: amazon}}), Sparse: 15,
			Asks: true},
		{Method: "nodesteps/GetVolume", When: "a link to a share", Prepare: do(stageShare), Call: usage(ShareLink),
			Asks: true},
		{Method: "nodesteps/GetVolume", When: "a mount point", Prepare: do(stage), Call: usage(Staging), Asks: true},
		{Method: "nodesteps/StageShare", When: "a missing directory", Call: stageShare, Sparse: 5},
		{Method: "nodesteps/StageShare", When: "there already", Prepare: do(stageShare), Call: stageShare, Sparse: 5},
		{Method: "nodesteps/Publish", When: "a mount point", Prepare: InUse, Call: publish, OnTheDisk: true, Sparse: 5},
		{Method: "nodesteps/Publish", When: "there already", Prepare: linked, Call: publish, OnTheDisk: true, Sparse: 5},
		{Method: "nodesteps/Expand", When: "the disk has grown", Prepare: grown, Call: func(n *Node) error {
			_, err := n.Steps().Expand(n.Context(), &stepsapi.ExpandRequest{TargetPath: Staging, SizeBytes: grownBytes})
			return err
		}, Sparse: 5},
		{Method: "nodesteps/Unstage", When: "a share", Prepare: do(stageShare), Call: unstage(ShareLink), Sparse: 5},
		{Method: "nodesteps/Unstage", When: "mounted", Prepare: InUse, Call: unstage(Staging), OnTheDisk: true, Sparse: 5},
	}
}

// sharedSteps are of a share that another driver uses as well, by a step or by the smb group, which must not lose it.
func sharedSteps() []Example {
	stageOther := func(n *Node) error { return n.StageShare(caller.Share, Plugins+`\other`) }
	ask, leave := Map(caller.Share, ""), unstage(ShareLink)
	return []Example{
		{Method: "nodesteps/StageShare", When: "beside a step", Prepare: do(stageOther), Call: stageShare, Shared: true},
		{Method: "nodesteps/StageShare", When: "beside the smb group", Prepare: do(ask), Call: stageShare, Shared: true},
		{Method: "nodesteps/Unstage", When: "beside a step", Prepare: do(stageShare, stageOther), Call: leave, Shared: true},
		{Method: "nodesteps/Unstage", When: "beside the smb group", Prepare: do(stageShare, ask), Call: leave, Shared: true},
	}
}

// stageDisk stages a disk at Staging as a request says.
func stageDisk(r *stepsapi.StageDiskRequest) func(*Node) error {
	r.TargetPath = Staging
	return func(n *Node) error { _, err := n.Steps().StageDisk(n.Context(), r); return err }
}

func stageShare(n *Node) error { return n.StageShare(caller.Share, ShareLink) }

func unstage(path string) func(*Node) error { return func(n *Node) error { return n.Unstage(path) } }
