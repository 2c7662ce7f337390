// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"context"
	"path/filepath"
	"testing"
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
	n.must("saving the node", n.agent.Emulated().Save(s.dir, clone))
	return s
}

// Restore makes the node what it, or another, was when it was saved. Running calls are cut off, as by Reboot; when it
// returns, connected clients can go on. Detached disks of the node are gone.
func (n *Node) Restore(s Snapshot) {
	n.t.Helper()
	n.must("restoring the node", n.agent.Restore(context.Background(), s.dir))
}

// Clone starts another node with the same content for a test: a machine with a serial number of its own, whose disks
// and volumes have the ids of the original's, as on machines that were made of one image.
func (n *Node) Clone(t testing.TB, o Options) *Node {
	t.Helper()
	clone := n.save(true)
	o.StateDir = clone.dir
	return Start(t, o)
}
