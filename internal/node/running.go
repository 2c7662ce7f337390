// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/running"
)

// Running is an operation that has not ended. It may continue after its callers have given up: a kernel call that hangs
// shows in this way.
type Running struct {
	Name    string        // its verb and objects: "MountVolume(C:\dir, \\?\Volume{…}\)"
	Age     time.Duration // since the call arrived
	Waiting bool          // it waits for its locks and has not begun
}

// Running lists the operations that have not ended, the oldest first. An operation that asks several disks or volumes
// side by side is listed once more for each of them that has not answered.
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
	at        object    // the object that it has reached, if that is not its own
	left      time.Time // when the caller of a read gave up; zero: it still waits
}

// begin enters an operation in the register and keeps what its call holds, if anything.
func (n *Node) begin(ctx context.Context, what operation) (entry *running.Entry[task], held Held) {
	if n.hold != nil {
		held = n.hold(ctx)
	}
	return n.tasks.Add(task{operation: what}), held
}

// end removes an operation from the register and releases what its call held.
func (n *Node) end(entry *running.Entry[task], held Held) {
	entry.Update(func(t *task) { t.over = true })
	if last := entry.Remove(); !last.left.IsZero() {
		n.abandonedReads.Add(-1)
	}
	if held != nil {
		held.Release()
	}
}
