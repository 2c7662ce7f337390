// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	nodesteps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// stageLate stages a disk that is not there yet, and waits for it.
func stageLate(ctx context.Context, n *caller.Node, name string) error {
	_, err := n.Steps().StageDisk(ctx, &nodesteps.StageDiskRequest{TargetPath: staging + "-" + name,
		Disk: &nodesteps.StageDiskRequest_SerialNumber{SerialNumber: name}})
	return err
}

// isOpen reports whether the agent still serves a call. The caller of a canceled call learns its end earlier.
func isOpen(e *nodeapi.JournalEntry) bool { return e.GetSequence() == 0 }

// One call too many that waits for its disk is refused at once, so that a driver's other calls on the connection are
// served. Calls that end leave their places to others.
func TestMostCallsThatWaitForDisks(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	const most = 48
	for round := range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		ended := make(chan error, most+1)
		for i := range most + 1 {
			go func() { ended <- stageLate(ctx, n, fmt.Sprintf("late-%d-%d", round, i)) }()
		}
		n.Refused(<-ended, codes.Unavailable, reason.TooManyCalls, "48 calls of this connection wait for their disks already",
			"as kubelet does")
		if t.Failed() {
			t.FailNow()
		}
		n.OK(n.Unstage(staging))
		if len(ended) > 0 {
			t.Fatalf("another call does not wait: %v", <-ended)
		}
		facts, err := n.Admin(t).GetFacts(t.Context(), &admin.GetFactsRequest{})
		n.OK(err)
		waiting := slices.DeleteFunc(facts.GetLimits(), func(l *admin.Limit) bool {
			return l.GetWhat() != "waits" && l.GetRefusedAge() == nil
		})
		if len(waiting) != 2 || waiting[0].GetUsed() < most || waiting[1].GetUsed() != most || waiting[1].GetMost() != most {
			t.Errorf("in the agent's facts: %v, want the refused call and the waits", waiting)
		}
		cancel()
		for range most {
			n.Code(<-ended, codes.Canceled)
		}
		n.WaitFor(func() bool {
			return !slices.ContainsFunc(n.Find(csiproxytest.Query{Method: "nodesteps/StageDisk"}), isOpen)
		})
	}
}

// An agent that stops tells a call that only waits for its disk. A call that formats ends as if nothing were.
func TestStopOfAWaitingStage(t *testing.T) {
	n := caller.Start(t, testnode.Options{})
	waits, formats, stopped := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	formatting, format := n.Faults.Hang("FormatVolume")
	go func() { formats <- n.StageDisk(1, staging) }()
	<-formatting
	go func() { waits <- stageLate(t.Context(), n, "late") }()
	n.WaitFor(func() bool { return len(n.Find(csiproxytest.Query{Function: "ReenumerateDevices"})) > 1 })
	go func() { stopped <- n.Agent.Stop(t.Context()) }()
	n.Refused(<-waits, codes.Unavailable, reason.NodeNotServed, "the agent is stopping", "nothing was changed")
	if len(formats)+len(stopped) > 0 {
		t.Error("the agent did not wait for the format")
	}
	format()
	n.OK(<-formats)
	n.OK(<-stopped)
}
