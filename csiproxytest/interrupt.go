// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
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
// kind; go test -short tries every seventh. A stage and a publish take half a minute on two processors.
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
	interruptAt(t, func(p point) bool { return p.changes }, setup, operation)
}

// InterruptEverywhere is Interrupt at every Windows function that was called, also those that only look. It tests the
// agent more than the driver: a stage takes minutes.
func InterruptEverywhere(t *testing.T, setup func(t testing.TB) *Node,
	operation func(ctx context.Context, n *Node) error) {
	t.Helper()
	interruptAt(t, func(point) bool { return true }, setup, operation)
}

func interruptAt(t *testing.T, wanted func(point) bool, setup func(t testing.TB) *Node,
	operation func(ctx context.Context, n *Node) error) {
	t.Helper()
	n := setup(t)
	before, after := n.Save(), n.Newest()
	if err := operation(t.Context(), n); err != nil {
		t.Fatalf("the operation fails without any interruption: %v", err)
	}
	points := slices.DeleteFunc(pointsOf(n.Find(Query{After: after})), func(p point) bool { return !wanted(p) })
	if len(points) == 0 {
		t.Fatal("the operation calls nothing that could be interrupted")
	}
	want := n.outcome()
	whole := n.t
	for i, p := range points {
		for j, k := range kinds {
			if testing.Short() && (i*len(kinds)+j)%sampled != 0 {
				continue
			}
			t.Run(p.name()+"/"+k.name, func(t *testing.T) {
				n.t = t
				defer func() {
					if t.Failed() && !n.reported {
						t.Logf("the node of the failed interruption:\n%s", n.report())
						n.reported = true // one is enough: the next ones are often the same
					}
					n.t = whole
				}()
				n.Restore(before)
				n.interrupt(t, k, p, operation)
				if got := n.outcome(); !reflect.DeepEqual(got, want) {
					t.Errorf("the operation and its repetition left\n%v\nwithout interruption it leaves\n%v", got, want)
				}
			})
		}
	}
}

// A point is one call of an operation.
type point struct {
	calls   Calls
	number  int  // of the calls like it, from 1
	changes bool // the node, or it is one of the driver
}

func (p point) name() string {
	name := p.calls.Function + p.calls.ControlCode
	if p.calls.Function == "DeviceIoControl" {
		name = p.calls.ControlCode
	}
	if p.calls.Method != "" {
		name = strings.TrimPrefix(strings.ReplaceAll(p.calls.Method, "/", "."), ".")
	}
	return fmt.Sprintf("%s#%d", name, p.number)
}

// pointsOf returns the calls of drivers, and the kernel calls that were made for them.
func pointsOf(entries []*nodeapi.JournalEntry) (points []point) {
	ofDriver := map[string]bool{}
	for _, e := range entries {
		if strings.HasPrefix(e.GetApi().GetEndpoint(), "csi-proxy-") {
			ofDriver[e.GetRequestId()] = true
		}
	}
	numbers := map[Calls]int{}
	for _, e := range entries {
		if !ofDriver[e.GetRequestId()] {
			continue
		}
		calls, changes := Calls{Method: e.GetApi().GetMethod()}, true
		if k := e.GetKernel(); k != nil {
			calls = Calls{Function: k.GetFunction(), ControlCode: k.GetControlCode()}
			changes = k.GetChanges()
		}
		numbers[calls]++
		points = append(points, point{calls, numbers[calls], changes})
	}
	return points
}

// A kind is a way to interrupt a call.
type kind struct {
	name         string
	death, after bool
}

var kinds = []kind{{"fails", false, false}, {"fails after effect", false, true}, {"death before", true, false},
	{"death after effect", true, true}}

// interrupt runs an operation, interrupts it, and repeats it until it succeeds.
func (n *Node) interrupt(t *testing.T, k kind, p point, operation func(context.Context, *Node) error) {
	t.Helper()
	calls := p.calls
	calls.Skip, calls.Times = p.number-1, 1
	var err error
	if k.death {
		err = n.die(t, calls, k.after, operation)
	} else {
		end := n.failOnce(calls, k.after)
		err = operation(t.Context(), n)
		end() // it may have met fewer such calls this time
	}
	for try := 0; err != nil && try < retries; try++ {
		err = operation(t.Context(), n)
	}
	if err != nil {
		t.Errorf("the repetition fails: %v", err)
	}
}

// failOnce makes one call fail.
func (n *Node) failOnce(calls Calls, after bool) (end func()) {
	switch {
	case calls.Method != "" && after:
		return n.CutAfter(calls)
	case calls.Method != "":
		return n.FailRPC(calls, codes.Unavailable, "interrupted by the test")
	case after:
		return n.FailAfter(calls, ERROR_NOT_READY)
	default:
		return n.Fail(calls, ERROR_NOT_READY)
	}
}

// die runs an operation until it reaches a call, and lets the agent die there: what the node keeps at that moment is
// all that the next agent finds. It returns the error of the operation, whose connections were cut.
func (n *Node) die(t *testing.T, calls Calls, after bool, operation func(context.Context, *Node) error) error {
	t.Helper()
	hang := n.Hang
	if after {
		hang = n.HangAfter
	}
	reached, release := hang(calls)
	defer release()
	ended := make(chan error, 1)
	go func() { ended <- operation(t.Context(), n) }()
	select {
	case err := <-ended: // without such a call
		return err
	case <-reached:
	}
	kept := n.Save()
	n.Restore(kept)
	return <-ended
}

// outcome is what an operation leaves on a node, in the terms of the driver.
type outcome struct {
	Mounts   []string
	Mappings []Mapping
	Sessions []Session
	Links    []Link
}

// outcome returns it. Volumes are left out, as each format gives them another id.
func (n *Node) outcome() outcome {
	o := outcome{Mappings: n.Mappings(), Sessions: n.Sessions(), Links: n.Links(n.KubeletDir())}
	for _, m := range n.Mounts() {
		o.Mounts = append(o.Mounts, m.Path)
	}
	return o
}
