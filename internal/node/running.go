// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/running"
)

// Running is an operation that has not ended. It may go on although its callers have given up: that is how a kernel call
// that hangs shows.
type Running struct {
	Name    string        // what it does, and on what: "MountVolume(C:\dir, \\?\Volume{…}\)"
	Age     time.Duration // since it was asked for
	Waiting bool          // for its locks: it has not begun
}

// Running lists the operations that have not ended, the oldest first. One that asks several disks or volumes side by side
// is listed once more for each that has not answered.
func (n *Node) Running() []Running {
	var all []Running
	for _, e := range n.tasks.All() {
		r := Running{Name: e.Value.operation.String(), Age: time.Since(e.Since), Waiting: !e.Value.begun}
		if at := e.Value.at; at != (object{}) {
			r.Name += " at " + at.String()
		}
		all = append(all, r)
	}
	return all
}

// task is an operation in the register of those that have not ended.
type task struct {
	operation operation
	begun     bool
	over      bool
	at        object    // where it is on its way, if that is not what it works on
	left      time.Time // since when nobody waits for a read; zero: somebody does
}

// begin takes an operation up in the register and keeps what its call holds, if it holds anything.
func (n *Node) begin(ctx context.Context, what operation) (entry *running.Entry[task], held Held) {
	if n.hold != nil {
		held = n.hold(ctx)
	}
	return n.tasks.Add(task{operation: what}), held
}

// end takes an operation out of the register and lets go what its call held.
func (n *Node) end(entry *running.Entry[task], held Held) {
	entry.Update(func(t *task) { t.over = true })
	if last := entry.Remove(); !last.left.IsZero() {
		n.abandonedReads.Add(-1)
	}
	if held != nil {
		held.Release()
	}
}
