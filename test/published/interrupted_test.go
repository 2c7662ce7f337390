// SPDX-License-Identifier: Apache-2.0

//go:build unix

package published

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

// TestStepRunsToItsEnd: a step whose caller gives up goes on, and a repeated call joins it.
func TestStepRunsToItsEnd(t *testing.T) {
	t.Parallel()
	n, m := start(t)
	for disk, repeated := range map[uint32]bool{1: false, 2: true} {
		results, before := make(chan error, 1), n.Newest()
		stage := func(ctx context.Context) {
			_, err := m.StageDisk(ctx, mounter.ByNumber(disk), targetOf(fmt.Sprint(disk)), mounter.StageOptions{})
			results <- err
		}
		formatting, release := n.Hang(csiproxytest.Calls{Function: "FormatVolume"})
		ctx, giveUp := context.WithCancel(t.Context())
		go stage(ctx)
		<-formatting
		giveUp()
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Errorf("the caller that gave up got %v", err)
		}
		if repeated {
			go stage(t.Context())
		}
		release()
		n.WaitFor(func() bool {
			return slices.ContainsFunc(n.Mounts(),
				func(m csiproxytest.Mount) bool { return m.Path == "C:"+targetOf(fmt.Sprint(disk)) })
		})
		if repeated {
			check(t, "staging again", <-results)
		}
		if formats := n.Find(csiproxytest.Query{After: before, Function: "FormatVolume"}); len(formats) != 1 {
			t.Errorf("disk %d: the volume was formatted %d times", disk, len(formats))
		}
	}
}

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

// TestUnstageInterrupted: the agent dies, or Windows fails, between the unmounting of a volume and its disk's going
// offline. The repeated call, to the next agent, takes the disk offline, unless the volume is in use again.
func TestUnstageInterrupted(t *testing.T) {
	t.Parallel()
	n, m := start(t)
	ctx, s := t.Context(), subject{Node: n, m: m, serial: serial}
	offline := csiproxytest.Calls{Function: "DeviceIoControl", ControlCode: "IOCTL_DISK_SET_DISK_ATTRIBUTES"}
	unstage := func(what, at string, online bool) {
		t.Helper()
		for range 2 {
			check(t, what, m.Unstage(ctx, at))
		}
		if got, _ := diskOf(n, 1); got != online {
			t.Errorf("%s: the disk is online: %t, want %t", what, got, online)
		}
	}

	s.stage(t, staging, mounter.StageOptions{})
	reached, release := n.Hang(offline)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = m.Unstage(ctx, staging) // fails, or is repeated by the client
	}()
	<-reached
	n.Restore(n.Save())
	<-ended
	release()
	unstage("unstaging after the agent's death", staging, false)

	s.stage(t, staging, mounter.StageOptions{})
	end := n.Fail(offline, "ERROR_IO_DEVICE")
	for range 2 {
		if err := m.Unstage(ctx, staging); err == nil {
			t.Error("unstaged, although the disk did not go offline")
		}
	}
	end()
	s.stage(t, targetOf("elsewhere"), mounter.StageOptions{})
	unstage("unstaging the rest of a volume in use", staging, true)
	unstage("unstaging the other", targetOf("elsewhere"), false)
}
