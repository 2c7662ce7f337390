// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"testing"
	"testing/synctest"

	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
)

// A volume that another call mounts while Unstage looks whether its disk is used is not taken offline under that mount.
func TestUnstageBesideAMount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const staged, other = KubeletDir + `\plugins\staged`, KubeletDir + `\plugins\other`
		var k *emulated.Node
		var volume string
		looked, goOn := make(chan struct{}, 1), make(chan struct{})
		watching := false
		var n *Node
		n, k = nodeWith(t, func(_ context.Context, call kernel.Call, do func() error) error {
			err := do()
			if watching && call.Function == "VolumePathNames" {
				if paths, _ := k.VolumePathNames(volume); len(paths) == 0 { // Unstage has seen that nothing is mounted
					watching = false
					looked <- struct{}{}
					<-goOn
				}
			}
			return err
		}, bundle.Spec{SizeBytes: 256 << 20, SerialNumber: "a"})
		answer, err := n.Steps.StageDisk(t.Context(), &api.StageDiskRequest{TargetPath: staged,
			Disk: &api.StageDiskRequest_DiskNumber{DiskNumber: 1}})
		must(t, err)
		volume = answer.GetVolumeId()
		watching = true
		unstaged, mounted := make(chan error, 1), make(chan error, 1)
		go func() { unstaged <- by(t.Context(), n).Unstage(staged) }()
		<-looked
		go func() { mounted <- by(t.Context(), n).MountVolume(volume, other) }()
		synctest.Wait()
		close(goOn)
		must(t, <-unstaged)
		if err := <-mounted; err != nil {
			return // the disk was offline by then
		}
		if online, err := by(t.Context(), n).GetDiskState(1); err != nil || !online {
			t.Errorf("the volume is mounted, and its disk online: %t, %v", online, err)
		}
	})
}
