// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	nodestepsapi "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// stepExamples are the steps of a CSI node service. A step is many calls of the kernel, so a disturbance leaves it half
// done.
func stepExamples() []swept {
	linked := func(w *world) {
		inUse(w)
		w.OK(link(w))
	}
	stageDisk := func(w *world) error { return w.StageDisk(theDisk, staging) }
	stageShare := func(w *world) error { return w.StageShare(caller.Share, plugins+`\share`) }
	publishStaged := func(w *world) error { return w.Publish(staging, publish) }
	staged := mustDo(stageShare)
	return append(shareExamples(stageShare), []swept{
		{method: "NodeSteps/StageDisk", when: "blank", call: stageDisk, disk: true, sparse: 15},
		{method: "NodeSteps/StageDisk", when: "in use, the disk has grown", prepare: func(w *world) {
			inUse(w)
			w.OK(w.emulated.GrowDisk(theDisk, grownBytes))
		}, call: stageDisk, disk: true, sparse: 15},
		{method: "NodeSteps/StageDisk", when: "blank, by the LUN of an NVMe disk in Azure", prepare: func(w *world) {
			_, err := w.emulated.AttachDisk(bundle.Spec{SizeBytes: diskBytes, Adapter: 7, LUN: 1,
				BusType: win32.BusTypeNvme, Model: "MSFT NVMe Accelerator v1.0"})
			w.OK(err)
		}, call: func(w *world) error {
			_, err := w.Steps().StageDisk(w.Context(), &nodestepsapi.StageDiskRequest{
				TargetPath: staging, Disk: &nodestepsapi.StageDiskRequest_AzureLun{},
			})
			return err
		}, sparse: 15},
		{method: "NodeSteps/StageDisk", when: "blank, with an access list", call: stageForUser, disk: true, sparse: 15},
		{method: "NodeSteps/StageShare", when: "a missing directory", call: stageShare, sparse: 5},
		{method: "NodeSteps/StageShare", when: "there already", prepare: staged, call: stageShare, sparse: 5},
		{method: "NodeSteps/Unstage", when: "a share", prepare: staged, call: unstage(plugins + `\share`), sparse: 5},
		{method: "NodeSteps/Unstage", when: "mounted", sparse: 5, prepare: inUse, call: unstage(staging),
			retry: func(w *world) error {
				if err := unstage(staging)(w); err != nil || w.pulled == "" {
					return err
				}
				return setState(theDisk, false)(w) // a driver that knows the disk finds it when it is back
			}, disk: true},
		{method: "NodeSteps/Publish", when: "a mount point", prepare: inUse, call: publishStaged, disk: true, sparse: 5},
		{method: "NodeSteps/Publish", when: "there already", prepare: linked, call: publishStaged, disk: true, sparse: 5},
		{method: "NodeSteps/Expand", when: "the disk has grown", sparse: 5, prepare: func(w *world) {
			inUse(w)
			w.OK(w.emulated.GrowDisk(theDisk, grownBytes))
		}, call: func(w *world) error {
			_, err := w.Steps().Expand(w.Context(), &nodestepsapi.ExpandRequest{TargetPath: staging, SizeBytes: grownBytes})
			return err
		}},
	}...)
}

// shareExamples are of a share that another driver uses as well, by a step or by the smb group, which must not lose it.
func shareExamples(stage func(*world) error) []swept {
	const remote, other = caller.Share, plugins + `\other`
	stageOther := func(w *world) error { return w.StageShare(remote, other) }
	ask := mapShare(remote, "", caller.Password)
	giveUp := func(w *world) error { return w.RemoveSmbGlobalMapping(remote) }
	leave := unstage(plugins + `\share`)
	after := func(calls ...func(*world) error) func(*world) {
		return func(w *world) {
			for _, call := range calls {
				w.OK(call(w))
			}
		}
	}
	return []swept{
		{method: "NodeSteps/StageShare", when: "beside a step", prepare: after(stageOther), call: stage, shared: true},
		{method: "NodeSteps/StageShare", when: "beside the smb group", prepare: after(ask), call: stage, shared: true},
		{method: "Smb/NewSmbGlobalMapping", when: "beside a step", prepare: after(stage), call: ask, shared: true},
		{method: "Smb/RemoveSmbGlobalMapping", when: "beside a step", prepare: after(stage, ask), call: giveUp, shared: true},
		{method: "Smb/RemoveSmbGlobalMapping", when: "alone", prepare: after(ask), call: giveUp},
		{method: "NodeSteps/Unstage", when: "beside a step", prepare: after(stage, stageOther), call: leave, shared: true},
		{method: "NodeSteps/Unstage", when: "beside the smb group", prepare: after(stage, ask), call: leave, shared: true},
	}
}

// stageForUser stages a disk on which ContainerUser may write.
func stageForUser(w *world) error {
	_, err := w.Steps().StageDisk(w.Context(), &nodestepsapi.StageDiskRequest{
		TargetPath: staging, Disk: &nodestepsapi.StageDiskRequest_DiskNumber{DiskNumber: theDisk},
		Access: []*nodestepsapi.AccessEntry{{Sid: "S-1-5-93-2-2", Rights: nodestepsapi.AccessRights_ACCESS_RIGHTS_MODIFY}},
	})
	return err
}

func unstage(path string) func(*world) error { return func(w *world) error { return w.Unstage(path) } }
