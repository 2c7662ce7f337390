// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

// A Snapshot is a saved node: its disks, their files, its services, mappings and settings. It does not change, and is
// removed when the test ends.
type Snapshot struct {
	dir string
}

// Save saves the node. It goes on running.
func (n *Node) Save() Snapshot { n.t.Helper(); return n.save(false) }

func (n *Node) save(clone bool) Snapshot {
	n.t.Helper()
	s := Snapshot{filepath.Join(tempDir(n.t), "s")}
	n.must("saving the node", n.node().Save(s.dir, clone))
	return s
}

// Restore makes the node what it, or another, was when it was saved. Running calls are cut off, and connected clients
// can go on, as with Reboot. Detached disks of the node are gone.
func (n *Node) Restore(s Snapshot) {
	n.t.Helper()
	n.must("restoring the node", n.emulation().Restore(s.dir))
}

// Clone starts another node with the same content for a test: a machine with a serial number of its own, whose disks
// and volumes have the ids of the original's, as on machines that were made of one image.
func (n *Node) Clone(t testing.TB, o Options) *Node {
	t.Helper()
	clone := n.save(true)
	o.StateDir = clone.dir
	return Start(t, o)
}

// A Fleet is some nodes and a cloud's disks, for tests of a controller, or of what follows a pod from node to node.
type Fleet struct {
	Nodes []*Node

	cloud string // the directory of the disks
}

// StartFleet starts nodes for a test, and stops them when the test and its subtests end. They differ in the serial
// numbers of their systems: those of the scenario, with the node's index after a dash.
func StartFleet(t testing.TB, nodes int, o Options) *Fleet {
	t.Helper()
	if kind := nodeKind(t); kind != "" {
		t.Skipf(onlyEmulated, "csiproxytest.StartFleet", kind)
	}
	if o.StateDir != "" || o.PlainPipes {
		t.Fatal("the nodes of a fleet have directories and pipes of their own: leave StateDir and PlainPipes out of " +
			"the Options")
	}
	f := &Fleet{cloud: tempDir(t)}
	for i := range nodes {
		f.Nodes = append(f.Nodes, start(t, o, func(s *scenario.Scenario) { s.SystemSerial += fmt.Sprintf("-%d", i) }))
	}
	return f
}

// Disk returns where the cloud keeps the disk of a name, for the BundlePath of AttachDisk at one node after the other.
// The first one makes it.
func (f *Fleet) Disk(name string) (bundlePath string) { return filepath.Join(f.cloud, name) }
