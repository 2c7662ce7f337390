// SPDX-License-Identifier: Apache-2.0

//go:build unix

package published

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	nodestepsapi "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

// A step is something that a driver does, with the method of the agent that does it in one call.
type step struct {
	method string
	do     func(m *mounter.Mounter) (any, error)
}

// callsOf returns the calls of the API that something makes.
func callsOf(n *csiproxytest.Node, do func()) (methods []string) {
	before := n.Newest()
	do()
	for _, e := range n.Find(csiproxytest.Query{After: before, Method: "*"}) {
		if e.GetApi() != nil {
			methods = append(methods, e.GetApi().GetMethod())
		}
	}
	return methods
}

// TestStepsBothWays: an agent that does steps in one call and one that does not, as the original's, give a driver the
// same.
func TestStepsBothWays(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var results [2][]any
	for i, apis := range [][]string{nil, {"nodesteps=off"}} {
		n := csiproxytest.Start(t, csiproxytest.Options{APIs: apis})
		m := mounter.New(n.Client())
		stage := step{"StageDisk", func(m *mounter.Mounter) (any, error) {
			device, err := m.StageDisk(ctx, mounter.ByEBSVolume("vol-0123456789abcdef1"), staging, mounter.StageOptions{})
			return device.Disk, err
		}}
		unstage := step{"Unstage", func(m *mounter.Mounter) (any, error) { return nil, m.UnmountDevice(ctx, staging) }}
		condition := step{"GetVolume", func(m *mounter.Mounter) (any, error) { return m.Condition(ctx, staging) }}
		usage := step{"GetUsage", func(m *mounter.Mounter) (any, error) { return m.Usage(ctx, staging) }}
		for at, s := range []step{
			stage, stage, condition, usage,
			{"Expand", func(m *mounter.Mounter) (any, error) { return m.ExpandTo(ctx, staging, 0) }},
			{"Expand", func(m *mounter.Mounter) (any, error) {
				n.GrowDisk(1, 12<<30)
				return m.ExpandTo(ctx, staging, 12<<30)
			}},
			{"StageDisk", func(m *mounter.Mounter) (any, error) {
				return m.StageDisk(ctx, mounter.ByNumber(2), staging, mounter.StageOptions{ReadOnly: true})
			}},
			{"StageDisk", func(m *mounter.Mounter) (any, error) {
				return m.StageDisk(ctx, mounter.BySerialNumber("vol0"), staging+"2", mounter.StageOptions{})
			}},
			unstage, unstage, condition, usage,
		} {
			var got any
			var err error
			calls := callsOf(n, func() { got, err = s.do(m) })
			if one := []string{"/v1alpha1.Nodesteps/" + s.method}; (apis == nil) != slices.Equal(calls, one) {
				t.Errorf("step %d with %q: the calls are %q", at, apis, calls)
			}
			kinds := []bool{err == nil, errors.Is(err, mounter.ErrDiskTooSmall), errors.Is(err, csiproxy.ErrOtherVolumeMounted),
				errors.Is(err, mounter.ErrAmbiguous)}
			if err != nil {
				got = nil
			}
			results[i] = append(results[i], got, kinds)
		}
	}
	for at := range results[0] {
		if got, want := fmt.Sprintf("%+v", results[0][at]), fmt.Sprintf("%+v", results[1][at]); got != want {
			t.Errorf("result %d is %s in one call and %s in single calls", at, got, want)
		}
	}
}

// TestStepRunsToItsEnd: a step whose caller gives up goes on, and the repeated call joins it.
func TestStepRunsToItsEnd(t *testing.T) {
	t.Parallel()
	n := csiproxytest.Start(t, csiproxytest.Options{})
	steps := n.Client().NodeSteps
	request := &nodestepsapi.StageDiskRequest{TargetPath: staging,
		Disk: &nodestepsapi.StageDiskRequest_DiskNumber{DiskNumber: 1}}
	formatting, release := n.Hang(csiproxytest.Calls{Function: "FormatVolume"})
	ctx, giveUp := context.WithCancel(t.Context())
	gaveUp := make(chan error, 1)
	go func() {
		_, err := steps.StageDisk(ctx, request)
		gaveUp <- err
	}()
	<-formatting
	giveUp()
	if err := <-gaveUp; status.Code(err) != codes.Canceled {
		t.Errorf("the caller that gave up got %v", err)
	}
	again := make(chan error, 1)
	go func() {
		_, err := steps.StageDisk(t.Context(), request)
		again <- err
	}()
	release()
	check(t, "staging again", <-again)
	if formats := n.Find(csiproxytest.Query{Function: "FormatVolume"}); len(formats) != 1 {
		t.Errorf("the volume was formatted %d times", len(formats))
	}
}

// TestCancelledWaitStagesNothing: a disk that arrives after the wait was abandoned is not staged, and the wait delays
// no other step.
func TestCancelledWaitStagesNothing(t *testing.T) {
	t.Parallel()
	n := csiproxytest.Start(t, csiproxytest.Options{})
	steps := n.Client().NodeSteps
	rescanning, release := n.Hang(csiproxytest.Calls{Function: "ReenumerateDevices"})
	ctx, giveUp := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	go func() {
		_, err := steps.StageDisk(ctx, &nodestepsapi.StageDiskRequest{
			TargetPath: staging, Disk: &nodestepsapi.StageDiskRequest_SerialNumber{SerialNumber: "late"},
		})
		waited <- err
	}()
	<-rescanning
	_, err := steps.Unstage(t.Context(), &nodestepsapi.UnstageRequest{TargetPath: staging})
	check(t, "another step at the path", err)
	giveUp()
	if err := <-waited; status.Code(err) != codes.Canceled {
		t.Errorf("the caller that gave up got %v", err)
	}
	n.WaitFor(func() bool { // the agent knows it, too
		return slices.ContainsFunc(n.Find(csiproxytest.Query{Method: "nodesteps/*/StageDisk"}),
			func(e *admin.JournalEntry) bool { return e.GetApi() != nil && e.GetSequence() > 0 })
	})
	n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "late"})
	release()
	// after any step that there may be
	_, err = steps.Unstage(t.Context(), &nodestepsapi.UnstageRequest{TargetPath: staging})
	check(t, "unstaging", err)
	if made := n.Find(csiproxytest.Query{Function: "FormatVolume"}); len(made) > 0 {
		t.Errorf("a volume was made without a caller: %v", made)
	}
}

// TestUnstageAfterACrash: the agent dies, or Windows fails, between the unmounting of a volume and its disk's going
// offline. The repeated call, to the next agent, takes the disk offline; unless the volume is in use again.
func TestUnstageAfterACrash(t *testing.T) {
	t.Parallel()
	n := csiproxytest.Start(t, csiproxytest.Options{})
	ctx, steps := t.Context(), n.Client().NodeSteps
	offline := csiproxytest.Calls{Function: "DeviceIoControl", ControlCode: "IOCTL_DISK_SET_DISK_ATTRIBUTES"}
	stage := func(target string) {
		_, err := steps.StageDisk(ctx,
			&nodestepsapi.StageDiskRequest{TargetPath: target, Disk: &nodestepsapi.StageDiskRequest_DiskNumber{DiskNumber: 1}})
		check(t, "staging", err)
	}
	unstage := func() error {
		_, err := steps.Unstage(ctx, &nodestepsapi.UnstageRequest{TargetPath: staging})
		return err
	}
	online := func(what string, want bool) {
		t.Helper()
		if got := n.Tree().GetDisks()[1].GetOnline(); got != want {
			t.Errorf("%s: the disk is online: %t, want %t", what, got, want)
		}
	}
	again := func(what string) {
		t.Helper()
		for range 2 {
			check(t, what, unstage())
		}
		online(what, false)
	}

	stage(staging)
	reached, release := n.Hang(offline)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = unstage() // fails, or is repeated by the client
	}()
	<-reached
	n.Restore(n.Save())
	<-ended
	release()
	again("unstaging after the agent's death")

	stage(staging)
	end := n.Fail(offline, "ERROR_IO_DEVICE")
	for range 2 {
		if err := unstage(); err == nil {
			t.Error("unstaged, although the disk did not go offline")
		}
	}
	online("unstaged half", true)
	end()
	stage(targetOf("elsewhere"))
	check(t, "unstaging the rest of a volume in use", unstage())
	online("the volume is in use", true)
	check(t, "unstaging the other", mounter.New(n.Client()).UnmountDevice(ctx, targetOf("elsewhere")))
	online("unstaged at both places", false)
	again("unstaging where nothing is left")
}

// TestUsageOfShares: a quota is the size of the share for its account. An agent without the group does not know how
// full a share is.
func TestUsageOfShares(t *testing.T) {
	t.Parallel()
	for _, apis := range [][]string{nil, {"nodesteps=off"}} {
		n := csiproxytest.Start(t, csiproxytest.Options{APIs: apis})
		n.SetSMBShareSpace("fs.emulated", "share", 10<<30, 1<<30)
		m := mounter.New(n.Client())
		if err := m.MountShare(t.Context(), `\\fs.emulated\share`, staging,
			mounter.Credentials{User: "csi", Password: "csi-password"}); err != nil {
			t.Fatal(err)
		}
		if err := m.Publish(t.Context(), staging, publish); err != nil {
			t.Fatal(err)
		}
		usage, err := m.Usage(t.Context(), publish)
		if want := (mounter.Usage{Total: 1 << 30, Available: 1 << 30}); apis == nil && (err != nil || usage != want) {
			t.Errorf("got %+v, %v, want %+v", usage, err, want)
		}
		if apis != nil && !errors.Is(err, csiproxy.ErrUnsupported) {
			t.Errorf("without the group: got %+v, %v", usage, err)
		}
	}
}

// TestAccessNeedsTheGroup: an access list is for agents that serve the group, and they say what became of it. Others
// touch no disk.
func TestAccessNeedsTheGroup(t *testing.T) {
	t.Parallel()
	for _, apis := range [][]string{nil, {"nodesteps=off"}} {
		n := csiproxytest.Start(t, csiproxytest.Options{APIs: apis})
		m := mounter.New(n.Client())
		stage := func(sid string) (mounter.AccessResult, error) {
			device, err := m.StageDisk(t.Context(), mounter.ByNumber(1), staging, mounter.StageOptions{
				Access: []mounter.Access{{SID: sid, Rights: mounter.RightsModify}}})
			return device.Access, err
		}
		const user = "S-1-5-93-2-2"
		result, err := stage(user)
		if apis == nil && err != nil || apis != nil && !errors.Is(err, csiproxy.ErrUnsupported) {
			t.Errorf("with %q: got %v", apis, err)
		}
		if raw := n.Tree().GetDisks()[1].GetStyle() == "RAW"; raw != (apis != nil) {
			t.Errorf("with %q: the disk is raw: %t", apis, raw)
		}
		if apis != nil {
			continue
		}
		results := []mounter.AccessResult{result}
		n.WriteFile(staging+`\data`, "")
		for _, sid := range []string{user, "S-1-1-0"} {
			result, err := stage(sid)
			check(t, "staging again", err)
			results = append(results, result)
		}
		want := []mounter.AccessResult{mounter.AccessAdded, mounter.AccessPresent, mounter.AccessNotAdded}
		if !slices.Equal(results, want) {
			t.Errorf("entries for a new volume, again, and with a file: %v, want %v", results, want)
		}
	}
}
