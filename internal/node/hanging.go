// SPDX-License-Identifier: Apache-2.0

package node

import (
	"slices"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/running"
)

// Reads that hang in Windows go on when their callers have given up, each on a goroutine and, on Windows, a thread of
// its own. Another read of the same object would only add one; reads of other objects are not affected.
const (
	lateAfter = 2 * time.Second // after its caller gave up, a read counts as hanging
	lateMost  = 2               // how many reads of one object may hang
)

// abandon notes that nobody waits for a read any more.
func (n *Node) abandon(entry *running.Entry[task]) {
	entry.Update(func(t *task) {
		if !t.over {
			t.left = time.Now()
			n.abandonedReads.Add(1)
		}
	})
}

// refuseHanging refuses a read when as many reads of an object hang as may.
func (n *Node) refuseHanging(what operation, x object) error {
	hanging, oldest := n.hanging(x)
	if hanging < lateMost {
		return nil
	}
	return errorf(Unavailable, reason.NotAnswering,
		"%s: %s does not answer: %d calls that ask it hang in Windows, the first for %v; no more are begun until one of them ends",
		what, x, hanging, oldest.Round(time.Second))
}

// hanging is how many reads of an object hang, and for how long the oldest has been running.
func (n *Node) hanging(x object) (count int, oldest time.Duration) {
	if n.abandonedReads.Load() == 0 {
		return 0, 0 // as most of the time
	}
	for _, e := range n.tasks.All() {
		if e.Value.hangsAt(x) {
			count, oldest = count+1, max(oldest, time.Since(e.Since))
		}
	}
	return count, oldest
}

// hangsAt reports whether a task is a read that hangs, and asks about an object.
func (t task) hangsAt(x object) bool {
	if t.left.IsZero() || time.Since(t.left) < lateAfter {
		return false
	}
	same := func(y object) bool { return y.key() == x.key() }
	return same(t.at) || slices.ContainsFunc(t.operation.hangsAt(), same)
}

// reach notes that a read is about to ask another object than what it works on, such as the share that a path leads to,
// and refuses to when that hangs. What the read asks from here on counts as that object's, until back is called.
func (o *op) reach(x object) (back func(), err error) {
	if o.reads {
		if err := o.node.refuseHanging(o.operation, x); err != nil {
			return nil, err
		}
	}
	var before object
	o.entry.Update(func(t *task) { before, t.at = t.at, x })
	return func() { o.entry.Update(func(t *task) { t.at = before }) }, nil
}
