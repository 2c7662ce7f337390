// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	diskbeta "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1beta3"
	disk "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1beta3"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
)

// apiSteps returns the calls of a stage that change something.
func apiSteps() []csiproxytest.Calls {
	return []csiproxytest.Calls{
		{Method: "disk/PartitionDisk", Times: 1}, {Method: "volume/FormatVolume", Times: 1},
		{Method: "volume/v1/MountVolume", Times: 1},
	}
}

// An API call fails: the driver gets the code and the text, and its next try succeeds.
func TestRPCError(t *testing.T) {
	for _, step := range apiSteps() {
		for name, injectFault := range map[string]func(*csiproxytest.Node){
			"before": func(n *csiproxytest.Node) { n.FailRPC(step, codes.ResourceExhausted, "try later") },
			"after":  func(n *csiproxytest.Node) { n.FailRPCAfter(step, codes.ResourceExhausted, "try later") },
		} {
			t.Run(name+" "+step.Method, func(t *testing.T) {
				node, d, _ := startStager(t)
				injectFault(node)
				err := d.stage(t.Context())
				wantOutcome(t, "the failed try", err, codes.ResourceExhausted)
				if text := status.Convert(err).Message(); text != "try later" {
					t.Errorf("got %q", text)
				}
				wantStaged(t, node, d, "")
			})
		}
	}
}

// The connection is lost, before the call took effect or with its answer. The driver cannot tell which, and need not
// know.
func TestConnectionLost(t *testing.T) {
	for _, step := range apiSteps() {
		for name, injectFault := range map[string]func(*csiproxytest.Node){
			"before": func(n *csiproxytest.Node) { n.Cut(step) },
			"after":  func(n *csiproxytest.Node) { n.CutAfter(step) },
		} {
			t.Run(name+" "+step.Method, func(t *testing.T) {
				node, d, _ := startStager(t)
				injectFault(node)
				err := d.stage(t.Context())
				wantOutcome(t, "the call whose connection was cut", err, codes.Unavailable)
				if text := status.Convert(err).Message(); strings.Contains(text, "was cut") {
					t.Errorf("the agent has answered: %s", text) // its own text is in the journal alone
				}
				// The agent knows what it did: the journal has the kernel calls of the call whose answer was lost.
				made := len(node.Find(csiproxytest.Query{Method: step.Method})) > 1
				if made != (name == "after") {
					t.Errorf("made: %v", made)
				}
				wantStaged(t, node, d, "")
			})
		}
	}
}

// A fault in one version does not affect a driver that uses another.
func TestRPCErrorOfOneVersion(t *testing.T) {
	node, d, _ := startStager(t)
	node.FailRPC(csiproxytest.Calls{Method: "disk/v1beta3"}, codes.Internal, "broken")
	old := csiproxytest.Client(t, node, disk.NewClientWithPipePath)
	_, err := old.ListDiskIDs(t.Context(), &diskbeta.ListDiskIDsRequest{})
	wantOutcome(t, "v1beta3", err, codes.Internal)
	wantStaged(t, node, d, "")
}

// An API call hangs until it is released, or until its caller gives up.
func TestHangingRPC(t *testing.T) {
	node, d, _ := startStager(t)
	reached, release := node.Hang(csiproxytest.Calls{Method: "volume/MountVolume", Times: 2})
	impatient, giveUp := context.WithCancel(t.Context())
	first := background(func() error { return d.stage(impatient) })
	await(t, reached, first)
	giveUp()
	wantOutcome(t, "the cancelled call", <-first, codes.Canceled)
	again := background(func() error { return d.stage(t.Context()) })
	release()
	if err := <-again; err != nil {
		t.Errorf("the released call: %v", err)
	}
	wantStaged(t, node, d, "")
}

// Latencies slow the driver down and do no harm.
func TestSlowRPCs(t *testing.T) {
	node, d, _ := startStager(t)
	end := node.Delay(csiproxytest.Calls{Method: "*"}, 0, 5*time.Millisecond)
	wantStaged(t, node, d, "")
	end()
	for _, e := range node.Find(csiproxytest.Query{Method: "*", Failed: true}) {
		if e.GetApi() != nil {
			t.Errorf("an API call failed: %v", e)
		}
	}
}

// The journal shows a driver's author what the agent made of a call.
func TestJournal(t *testing.T) {
	node, d, number := startStager(t)
	before := node.Newest()
	wantStaged(t, node, d, "")
	mounts := node.Find(csiproxytest.Query{After: before, Method: "volume/MountVolume"})
	last := mounts[len(mounts)-1]
	if api := last.GetApi(); api.GetMethod() != "/v1.Volume/MountVolume" || api.GetCode() != "OK" ||
		api.GetRequest() == "" {
		t.Errorf("got %v", last)
	}
	arguments := ""
	for _, e := range mounts {
		if e.GetRequestId() != last.GetRequestId() {
			t.Errorf("another call's: %v", e)
		}
		if e.GetKernel().GetFunction() == "SetVolumeMountPoint" {
			arguments = e.GetKernel().GetArguments()
		}
	}
	id, err := d.volume(t.Context(), number)
	if err != nil || arguments != id {
		t.Errorf("the volume that was mounted: got %q, want %q, %v", arguments, id, err)
	}
	if got := node.Find(csiproxytest.Query{After: before, Object: stagePath}); len(got) == 0 {
		t.Error("no call names the target")
	}
	_, err = d.disks.GetDiskState(t.Context(), &diskapi.GetDiskStateRequest{DiskNumber: 99})
	failed := node.Find(csiproxytest.Query{Method: "disk/GetDiskState", Failed: true})
	if n := len(failed); err == nil || n == 0 || failed[n-1].GetApi().GetCode() != "NotFound" {
		t.Errorf("got %v", failed)
	}
}
