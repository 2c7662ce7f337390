// SPDX-License-Identifier: Apache-2.0

package contract

import (
	kit "github.com/kubernetes-csi/csi-proxy/client/staging"
	"github.com/kubernetes-csi/csi-proxy/client/stepwise"
)

// stepExamples has the steps that ask the kernel what no call of another group asks.
func stepExamples() []kernelExample {
	return []kernelExample{
		{"GetUsage", "a link to a share", func(w *exampleNode) {
			w.must(mapRemote(anyShare, stagingDir, "csi-password")(w))
		}, usageOfStaged},
		{"GetUsage", "a mount point", func(w *exampleNode) {
			w.must(kit.New(w.Client()).MountDisk(w.ctx, 1, stagingDir))
		}, usageOfStaged},
		{"StageDisk", "with an access list, mounted and still empty", func(w *exampleNode) {
			w.must(kit.New(w.Client()).MountDisk(w.ctx, 1, stagingDir))
		}, stageForUser},
		{"StageDisk", "by Azure's LUN, on azure-nvme", nil, stageBy(stepwise.ByAzureLUN(0))},
		{"StageDisk", "by the model of an instance store, on aws-ebs-nvme", nil,
			stageBy(stepwise.ByModel("Amazon EC2 NVMe Instance Storage"))},
	}
}

func stageBy(match stepwise.Match) func(w *exampleNode) error {
	return func(w *exampleNode) error {
		_, err := kit.New(w.Client()).StageDisk(w.ctx, match, stagingDir, stepwise.StageOptions{})
		return err
	}
}

func stageForUser(w *exampleNode) error {
	_, err := kit.New(w.Client()).StageDisk(w.ctx, stepwise.ByNumber(1), stagingDir, stepwise.StageOptions{
		Access: []stepwise.Access{{SID: "S-1-5-93-2-2", Rights: stepwise.RightsModify}},
	})
	return err
}

func usageOfStaged(w *exampleNode) error {
	_, err := kit.New(w.Client()).Usage(w.ctx, stagingDir)
	return err
}
