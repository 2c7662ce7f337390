// SPDX-License-Identifier: Apache-2.0

//go:build unix

package published

import (
	"context"
	"errors"
	"slices"
	"testing"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

// TestCancelledWaitStagesNothing: a disk that arrives after the wait was abandoned is not staged, and the wait delays
// no other step.
func TestCancelledWaitStagesNothing(t *testing.T) {
	t.Parallel()
	n, m := start(t)
	rescanning, release := n.Hang(csiproxytest.Calls{Function: "ReenumerateDevices"})
	ctx, giveUp := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	go func() {
		_, err := m.StageDisk(ctx, mounter.BySerialNumber("late"), staging, mounter.StageOptions{})
		waited <- err
	}()
	<-rescanning
	check(t, "another step at the path", m.Unstage(t.Context(), staging))
	giveUp()
	if err := <-waited; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller that gave up got %v", err)
	}
	n.WaitFor(func() bool { // the agent knows it, too
		return slices.ContainsFunc(n.Find(csiproxytest.Query{Method: "nodesteps/*/StageDisk"}),
			func(e *nodeapi.JournalEntry) bool { return e.GetApi() != nil && e.GetSequence() > 0 })
	})
	n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "late"})
	release()
	check(t, "unstaging", m.Unstage(t.Context(), staging)) // after any step that there may be
	if made := n.Find(csiproxytest.Query{Function: "FormatVolume"}); len(made) > 0 {
		t.Errorf("a volume was made without a caller: %v", made)
	}
}
