// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
)

// A Fleet is some nodes and a cloud's disks, for tests of a controller, or of what follows a pod from node to node.
type Fleet struct {
	Nodes []*Node

	cloud string // the directory of the disks
}

// StartFleet starts nodes for a test, and stops them when the test and its subtests end. They differ in the serial
// numbers of their systems: those of the scenario, with the node's index after a dash.
func StartFleet(t testing.TB, nodes int, o Options) *Fleet {
	t.Helper()
	if o.StateDir != "" || o.PlainPipes {
		t.Fatal("the nodes of a fleet have directories and pipes of their own: leave StateDir and PlainPipes out of " +
			"the Options")
	}
	f := &Fleet{cloud: tempDir(t)}
	for i := range nodes {
		f.Nodes = append(f.Nodes, start(t, o, func(s *emulated.Scenario) { s.SystemSerial += fmt.Sprintf("-%d", i) }))
	}
	return f
}

// Disk returns where the cloud keeps the disk of a name, for the BundlePath of AttachDisk at one node after the other.
// The first one makes it.
func (f *Fleet) Disk(name string) (bundlePath string) { return filepath.Join(f.cloud, name) }
