// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	nodesteps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// stepCosts returns how many kernel calls each step makes, but for those that read a disk or volume, on a node with
// some more disks, each with a volume of its own that this agent has not seen.
func stepCosts(t *testing.T, more int) map[string]int {
	t.Helper()
	n := caller.Start(t, testnode.Options{})
	for i := range more {
		_, err := n.Emulated.AttachDisk(bundle.Spec{SizeBytes: 64 << 20, SerialNumber: fmt.Sprint("more-", i),
			Adapter: uint8(2 + i/200), LUN: uint8(i % 200), Formatted: true})
		n.OK(err)
	}
	costs, link := map[string]int{}, staging+"-link"
	do := func(name string, step func() error) {
		t.Helper()
		before := n.Newest()
		n.OK(step())
		for _, e := range n.Journal() {
			if e.GetSequence() <= before || e.GetKernel() == nil || e.GetKernel().GetFunction() == "ReadAt" {
				continue
			}
			costs[name]++
			if e.GetKernel().GetFunction() == "DiskInterfaces" {
				costs[name+", lists of disks"]++
			}
			if e.GetKernel().GetFunction() == "VolumeNames" {
				t.Errorf("%s lists all volumes", name)
			}
		}
	}
	stage := func() error {
		_, err := n.Steps().StageDisk(t.Context(), &nodesteps.StageDiskRequest{TargetPath: staging,
			Disk: &nodesteps.StageDiskRequest_SerialNumber{SerialNumber: "vol0123456789abcdef1"}})
		return err
	}
	do("StageDisk", stage)
	do("StageDisk again", stage)
	do("Publish", func() error { return n.Publish(staging, link) })
	do("Expand", func() error {
		_, err := n.Steps().Expand(t.Context(), &nodesteps.ExpandRequest{TargetPath: link})
		return err
	})
	do("GetVolume", func() error { _, _, err := n.GetVolume(link); return err })
	do("Unstage of a link", func() error { return n.Unstage(link) })
	do("ListVolumesOnDisk", func() error { _, err := n.ListVolumesOnDisk(1); return err })
	do("Unstage", func() error { return n.Unstage(staging) })
	do("StageDisk by number", func() error { return n.StageDisk(2, staging) })
	do("Unstage by number", func() error { return n.Unstage(staging) })
	return costs
}

// A step asks Windows little, and no more on a node with many disks: StageDisk by a mark lists them once, by five calls
// for each. None lists the volumes.
func TestStepsAskLittle(t *testing.T) {
	few := stepCosts(t, 0)
	if few["StageDisk"] > 130 || few["StageDisk, lists of disks"] != 1 {
		t.Errorf("StageDisk makes %d kernel calls, and %d lists of all disks", few["StageDisk"],
			few["StageDisk, lists of disks"])
	}
	more := 20
	if testnode.Long() {
		more = 300
	}
	want := maps.Clone(few)
	want["StageDisk"] += 5 * more
	want["StageDisk again"] += 5 * more
	if diff := cmp.Diff(want, stepCosts(t, more)); diff != "" {
		t.Errorf("with %d more disks (-want +got):\n%s", more, diff)
	}
}
