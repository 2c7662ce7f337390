// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"testing"

	nodesteps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/limits"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// Calls that wait for disks need none of the client's operations, so others go on. When the disks come, each is staged.
func TestWaitingForDisksHoldsUpNobody(t *testing.T) {
	n := testnode.Start(t, testnode.Options{Limits: limits.Limits{ClientOperations: 2}})
	const waiting = 6
	steps, staged := n.Client().NodeSteps, make(chan error, waiting)
	at := func(i int) string { return fmt.Sprintf(`%s-%d`, staging, i) }
	serial := func(i int) string { return fmt.Sprintf("late-%d-", i) }
	for i := range waiting {
		go func() {
			_, err := steps.StageDisk(t.Context(), &nodesteps.StageDiskRequest{TargetPath: at(i),
				Disk: &nodesteps.StageDiskRequest_SerialNumber{SerialNumber: serial(i)}})
			staged <- err
		}()
	}
	n.WaitFor(func() bool { // a look of each, and then one together
		return len(n.Find(csiproxytest.Query{Function: "DiskInterfaces"})) > waiting &&
			len(n.Find(csiproxytest.Query{Function: "ReenumerateDevices"})) > 1
	})
	_, err := steps.Unstage(t.Context(), &nodesteps.UnstageRequest{TargetPath: staging})
	noError(t, err)
	for i := range waiting {
		_, err := n.Emulated.AttachDisk(emulated.DiskSpec{SizeBytes: 64 << 20, SerialNumber: serial(i), LUNAuto: true})
		noError(t, err)
	}
	for range waiting {
		noError(t, <-staged)
	}
	if mounts := n.Mounts(); len(mounts) != waiting {
		t.Errorf("%d volumes are mounted, want %d: %v", len(mounts), waiting, mounts)
	}
}
