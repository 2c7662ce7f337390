// SPDX-License-Identifier: Apache-2.0

package node

import (
	"slices"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/running"
)

// Reads that hang in Windows continue after their callers have given up, each on a goroutine and, on Windows, a thread
// of its own. Another read of the same object would only add one more; reads of other objects are not affected.
const (
	lateAfter = 2 * time.Second // how long after its caller gave up a read counts as hanging
	lateMost  = 2               // reads of one object that may hang
)

// abandon notes that the caller of a read has given up.
func (n *Node) abandon(entry *running.Entry[task]) {
	entry.Update(func(t *task) {
		if !t.over {
			t.left = time.Now()
			n.abandonedReads.Add(1)
		}
	})
}

// refuseHanging refuses a read when the allowed number of reads of the object already hang.
func (n *Node) refuseHanging(what operation, x object) error {
	hanging, oldest := n.hanging(x)
	if hanging < lateMost {
		return nil
	}
	return errdefs.Unavailable.Errorf(reason.NotAnswering,
		"%s: %s does not answer: %d calls to it hang in Windows, the first for %v; no more are started until one of "+
			"them ends",
		what, x, hanging, oldest.Round(time.Second))
}

// hanging returns how many reads of an object hang, and how long the oldest has been running.
func (n *Node) hanging(x object) (count int, oldest time.Duration) {
	if n.abandonedReads.Load() == 0 {
		return 0, 0 // the usual case
	}
	n.tasks.Each(func(since time.Time, t *task) {
		if t.hangsAt(x) {
			count, oldest = count+1, max(oldest, time.Since(since))
		}
	})
	return count, oldest
}

// hangsAt reports whether a task is a read that hangs at an object.
func (t *task) hangsAt(x object) bool {
	if t.left.IsZero() || time.Since(t.left) < lateAfter {
		return false
	}
	same := func(y object) bool { return y.key() == x.key() }
	return same(t.at) || slices.ContainsFunc(t.operation.hangsAt(), same)
}

// reach notes that a read is about to ask an object other than its own, such as the share that a path leads to, and
// refuses if that object hangs. Until back is called, a hang counts against that object.
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
