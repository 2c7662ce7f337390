// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest/internal/transcript"
)

// retries is how often an operation that was interrupted is repeated, as kubelet does, which never stops. A connection
// that broke may cost the first one.
const retries = 3

// sampled is which of the points of Interrupt go test -short tries: every seventh.
const sampled = 7

// Interrupt tests that an operation of a driver can be interrupted. It runs it once, and notes each API call and each
// Windows function that changed the node for it. Then, for each of these calls, it puts the node back, interrupts the
// operation there and repeats it until it succeeds. It interrupts
//
//   - before the call takes effect: the call fails,
//   - after it took effect: the call fails, or the connection is cut,
//   - by the agent's death before and after: the node goes on with what it had kept, and a new agent serves it.
//
// A repetition must succeed, and leave the same mount points, mappings, sessions and links in kubelet's directory as
// the operation that nothing interrupted. Each interruption is a subtest, named after the call, its number and the
// kind; go test -short tries every seventh. A stage and a publish take some seconds on two processors.
//
// The function setup starts the node, as it is before the operation. The operation is called from a goroutine of its
// own, so it returns errors and does not end the test; it makes all its calls before it returns. The clients of the
// driver may live as long as the node:
//
//	func TestStageInterrupted(t *testing.T) {
//		var plugin *nodePlugin
//		csiproxytest.Interrupt(t, func(t testing.TB) *csiproxytest.Node {
//			node := csiproxytest.Start(t, csiproxytest.Options{})
//			node.AttachDisk(csiproxytest.Disk{SizeBytes: 10 << 30, SerialNumber: "vol-1"})
//			plugin = newPlugin(t, node)
//			return node
//		}, func(ctx context.Context, _ *csiproxytest.Node) error { return plugin.Stage(ctx, "vol-1", staging) })
//	}
func Interrupt(t *testing.T, setup func(t testing.TB) *Node, operation func(ctx context.Context, n *Node) error) {
	t.Helper()
	Interruption{Setup: setup, Operation: operation}.Run(t)
}

// InterruptEverywhere is Interrupt at every Windows function that was called, also those that only look. It tests the
// agent more than the driver: a stage takes about a minute.
func InterruptEverywhere(t *testing.T, setup func(t testing.TB) *Node,
	operation func(ctx context.Context, n *Node) error) {
	t.Helper()
	Interruption{Setup: setup, Operation: operation, Everywhere: true}.Run(t)
}

// An Interruption is Interrupt with choices.
type Interruption struct {
	// Setup and Operation are those of Interrupt.
	Setup     func(t testing.TB) *Node
	Operation func(ctx context.Context, n *Node) error
	// Repeat is what the driver does when the operation has failed. Nil: the operation.
	Repeat func(ctx context.Context, n *Node) error
	// Retries is how often it is repeated until it must have succeeded. 0: three times.
	Retries int
	// Everywhere is InterruptEverywhere's choice.
	Everywhere bool
	// Disturbances are what happens at each call. Nil: Interrupt's.
	Disturbances []Disturbance
	// State returns what a repetition must leave as the operation does, compared as JSON. Nil: Interrupt's.
	State func(n *Node) any
	// Judge looks at the error with which the disturbed operation ended, and returns whether that was all: it is not
	// repeated then. Nil: it always is.
	Judge func(t *testing.T, n *Node, err error) (over bool)
	// Try chooses among the disturbances of all calls, which are counted from 0. Nil: all, and with go test -short every
	// seventh.
	Try func(number int) bool
}

// Run interrupts the operation.
func (i Interruption) Run(t *testing.T) {
	t.Helper()
	i.Retries = cmp.Or(i.Retries, retries)
	if i.Repeat == nil {
		i.Repeat = i.Operation
	}
	if i.Disturbances == nil {
		i.Disturbances = interruptions()
	}
	if i.State == nil {
		i.State = func(n *Node) any { return n.outcome() }
	}
	if i.Try == nil {
		i.Try = func(number int) bool { return !testing.Short() || number%sampled == 0 }
	}
	n := i.Setup(t)
	before := n.Save()
	points, want := i.undisturbed(t, n, before, false)
	if len(points) == 0 {
		t.Fatal("the operation calls nothing that could be interrupted")
	}
	rebooted := "" // what disturbances that reboot must leave
	number, tried, unmet := 0, 0, 0
	for _, p := range points {
		for _, d := range i.Disturbances {
			if !d.fits(p) {
				continue
			}
			number++
			if !i.Try(number - 1) {
				continue
			}
			leaves := want
			if d.Reboots {
				if rebooted == "" {
					_, rebooted = i.undisturbed(t, n, before, true)
				}
				leaves = rebooted
			}
			tried++
			t.Run(p.name()+"/"+d.Name, func(t *testing.T) {
				defer n.within(t)()
				if !i.disturb(t, n, before, d, p, leaves) {
					unmet++
				}
			})
		}
	}
	if unmet*10 > tried {
		t.Errorf("the operation did not come to %d of %d calls again: it makes others each time", unmet, tried)
	}
}

// undisturbed runs the operation on the node as it was, perhaps after a reboot. It returns its calls and what it
// leaves.
func (i Interruption) undisturbed(t *testing.T, n *Node, before Snapshot, reboot bool) (points []point, left string) {
	t.Helper()
	n.Restore(before) // a new agent asks more than one that knows where things are
	if reboot {
		n.Reboot()
	}
	newest := n.Newest()
	err := i.Operation(t.Context(), n)
	for try := 0; status.Code(err) == codes.Unavailable && try < retries; try++ { // as in disturb
		newest = n.Newest()
		err = i.Operation(t.Context(), n)
	}
	if err != nil {
		t.Fatalf("the operation fails without any interruption: %v", err)
	}
	entries := n.Find(Query{After: newest})
	n.must("looking for calls to interrupt", transcript.Complete(entries, newest))
	points = slices.DeleteFunc(pointsOf(entries), func(p point) bool { return !i.Everywhere && !p.changes })
	return points, i.left(n)
}

// left is what State returns.
func (i Interruption) left(n *Node) string {
	n.t.Helper()
	text, err := json.MarshalIndent(i.State(n), "", "  ")
	n.must("writing the state of the node", err)
	return string(text) + "\n"
}

// within makes a part of the test the node's own, until it ends.
func (n *Node) within(t *testing.T) (end func()) {
	whole := n.t
	n.t = t
	return func() {
		if t.Failed() && !n.reported {
			t.Logf("the node of the failed interruption:\n%s", n.report())
			n.reported = true // one is enough: the next ones are often the same
		}
		n.t = whole
	}
}

// disturb runs the operation, disturbs it at a call, and repeats it until it succeeds. It returns whether it came to
// that call.
func (i Interruption) disturb(t *testing.T, n *Node, before Snapshot, d Disturbance, p point, want string) (met bool) {
	t.Helper()
	n.Restore(before)
	calls := p.calls
	calls.Skip, calls.Times = p.number-1, cmp.Or(d.Times, 1)
	met, err := d.run(t, n, calls, i.Operation)
	for try := 0; !met && err != nil && try < retries; try++ { // it met a connection that putting the node back has cut
		n.Restore(before)
		met, err = d.run(t, n, calls, i.Operation)
	}
	if met && i.Judge != nil && i.Judge(t, n, err) {
		return true
	}
	if met && d.Repair != nil {
		d.Repair(t, n)
	}
	repeat := err != nil || d.Repair != nil || d.Dies
	for try := 0; repeat && try < i.Retries; try++ {
		err = i.Repeat(t.Context(), n)
		repeat = err != nil
	}
	if err != nil {
		t.Errorf("the repetition fails: %v", err)
	}
	if got := i.left(n); got != want {
		t.Errorf("what the operation and its repetition left, compared with the operation without interruption:\n%s",
			diff.Diff("whole", []byte(want), "interrupted", []byte(got)))
	}
	return met
}
