// SPDX-License-Identifier: Apache-2.0

// Package examples has calls of each method on a node in some state. test/contract records their kernel calls, and
// test/reliability what they change, and what is left when something interrupts them.
package examples

import (
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// An Example is a call of a method on a node in one state, which succeeds.
type Example struct {
	Method  string // of a group's newest version, "disk/PartitionDisk"
	When    string
	Prepare func(*Node) // nil: the node as it is
	Call    func(*Node) error
	// Retry is what drivers do after a failure, if it is more than repeating the call.
	Retry func(*Node) error
	// OnTheDisk: the call works on TheDisk, which may go away meanwhile.
	OnTheDisk bool
	// Asks: the step asks the kernel what no call of another group asks.
	Asks bool
	// Sparse: the call is made of others, each of which is an example itself, so of its points only one in so many is
	// tried.
	Sparse int
	// Shared: another driver uses the share, which stays mapped whatever happens.
	Shared bool
}

// Again is what drivers do after a failure.
func (e Example) Again(n *Node) error {
	if e.Retry != nil {
		return e.Retry(n)
	}
	return e.Call(n)
}

// Node is the node of an example, which has Scenario.
type Node struct {
	*caller.Node
	ID string // of the volume that the preparation made on TheDisk
}

// The disks of a node: the one that examples work on, one that is offline, and one that has a volume already.
const (
	TheDisk     = 1
	OfflineDisk = 2
	Bystander   = 3
)

// How large the disk that examples work on is, and becomes.
const (
	DiskBytes  = 128 << 20
	grownBytes = 256 << 20
)

// TheDiskSpec describes the disk that examples work on; with its image it is that disk again, at its old address.
func TheDiskSpec(image string) bundle.Spec {
	spec := bundle.Spec{SerialNumber: "the-disk", LUN: 1, ImagePath: image}
	if image == "" {
		spec.SizeBytes = DiskBytes
	}
	return spec
}

// Scenario is the default node with the disks of the examples.
func Scenario() *scenario.Scenario {
	s := scenario.Default()
	identifiers := s.Disks[0].Identifiers
	s.SystemDisk.SizeBytes = 256 << 20
	s.Disks = []bundle.Spec{
		TheDiskSpec(""),
		{SizeBytes: DiskBytes, SerialNumber: "offline", LUN: 2, Offline: true},
		{SizeBytes: DiskBytes, SerialNumber: "bystander", LUN: 3, Formatted: true, Identifiers: identifiers},
	}
	return &s
}

// All returns the examples: of all methods but some steps that change nothing.
func All() []Example {
	return slices.Concat(disk(), volume(), filesystem(), smb(), iscsi(), system(), steps(), sharedSteps())
}

// do makes calls of the preparation.
func do(calls ...func(*Node) error) func(*Node) {
	return func(n *Node) {
		for _, call := range calls {
			n.OK(call(n))
		}
	}
}

// Grow grows TheDisk.
func (n *Node) Grow() { n.GrowDisk(TheDisk, grownBytes) }
