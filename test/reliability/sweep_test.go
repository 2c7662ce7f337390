// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

func sweptCalls() []swept {
	return slices.Concat(diskExamples(), volumeExamples(), filesystemExamples(), smbExamples(), iscsiExamples(),
		systemExamples(), stepExamples())
}

// TestEveryMethodIsSwept: each method of the newest versions that may change something has an example, and no other.
func TestEveryMethodIsSwept(t *testing.T) {
	want := map[string]bool{}
	for _, m := range node.Methods() {
		if !m.Reads {
			want[m.Group+"/"+m.Name] = true
		}
	}
	got := map[string]bool{}
	for _, e := range sweptCalls() {
		group, name, _ := strings.Cut(e.method, "/")
		got[strings.ToLower(group)+"/"+name] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("methods (-tables +examples):\n%s", diff)
	}
}

// stepOfSweep returns the step between the points that are tried. A long run tries every eleventh; CSI_PROXY_LONG=all
// tries all.
func stepOfSweep() int {
	switch {
	case os.Getenv("CSI_PROXY_LONG") == "all":
		return 1
	case testnode.Long():
		return 11
	}
	return 151
}

// TestSweep tries the disturbances at the kernel calls of each example.
func TestSweep(t *testing.T) {
	var total sweepCounts
	eachExample(t, 3, 0, func(t *testing.T, i int, e swept) { e.sweep(t, i, &total) })
	total.tell(t)
}

// eachExample tries a sample of the examples side by side, see testnode.Sampled.
func eachExample(t *testing.T, every, first int, try func(t *testing.T, number int, e swept)) {
	t.Helper()
	t.Run("examples", func(t *testing.T) {
		for i, e := range sweptCalls() {
			if testnode.Sampled(t, i, first, every) {
				t.Run(strings.ReplaceAll(e.method, "/", ".")+", "+e.when, func(t *testing.T) {
					t.Parallel()
					try(t, i, e)
				})
			}
		}
	})
}

// sweep tries the points of the example with index subject.
func (e swept) sweep(t *testing.T, subject int, total *sweepCounts) {
	t.Helper()
	left, calls := e.undisturbed(t, goesOn)
	want := map[revival]state{goesOn: left}
	if len(calls) == 0 {
		t.Fatal("it makes no kernel call")
	}
	total.add("kernel calls", len(calls))
	count := 0
	step := stepOfSweep() * max(1, e.sparse)
	for number, call := range calls {
		for _, d := range disturbances() {
			if d.disk && !e.disk || d.named && e.byNumber() {
				continue
			}
			if count++; count%step != subject%step {
				continue
			}
			if _, known := want[d.revival]; !known {
				want[d.revival], _ = e.undisturbed(t, d.revival)
			}
			p := point{swept: e, number: number, disturbance: d,
				name: fmt.Sprintf("call %d, %s %#x, %s", number, call.Function, call.Code, d.name)}
			if outcome := p.try(t, want[d.revival]); outcome != "" {
				t.Errorf("%s: %s", p.name, outcome)
			}
			total.add(d.name, 1)
		}
	}
	total.there(count / max(1, e.sparse)) // what all of them is to CSI_PROXY_LONG=all
}

// prepared returns the node where the example begins. Its agent has just started: one that knows where things are asks
// less.
func (e swept) prepared(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	if e.prepare != nil {
		e.prepare(w)
	}
	w.start()
	return w
}

// undisturbed makes the example's call without disturbance, after a restart or reboot, and returns the state that it
// leaves and its kernel calls.
func (e swept) undisturbed(t *testing.T, r revival) (state, []kernel.Call) {
	t.Helper()
	w := e.prepared(t)
	defer w.end()
	if r != goesOn {
		w.restart(r == rebooted)
	}
	w.around.watch(-1, nil)
	if err := e.call(w); err != nil {
		t.Fatalf("undisturbed: %v", err)
	}
	calls, _ := w.around.watched()
	return w.state(), calls
}

// point is one disturbance of one kernel call of one example.
type point struct {
	swept
	disturbance
	number int
	name   string
}

// try plays the point and returns what is wrong with the result.
func (p point) try(t *testing.T, want state) string {
	t.Helper()
	w := p.prepared(t)
	defer w.end()
	w.byNumber = p.method == "NodeSteps/StageDisk"
	w.around.watch(p.number, func(call kernel.Call, do func() error) error { return p.inject(w, call, do) })
	err := p.call(w)
	if _, met := w.around.watched(); !met {
		return "the call was not met"
	}
	if p.repair != nil {
		p.repair(w)
	}
	if p.revival != goesOn {
		w.restart(p.revival == rebooted)
	}
	return p.judge(w, err, want, p.revival, p.repair == nil)
}

// judge returns what is wrong with the result of a disturbed call, or with the state after the driver's retry. With
// done, a call of an agent that lives on and that answers OK is done.
func (e swept) judge(w *world, err error, want state, r revival, done bool) string {
	w.t.Helper()
	if err == nil && r == goesOn && done {
		if diff := want.diff(w.state()); diff != "" {
			return "it answers OK, and (-want +got):\n" + diff
		}
	}
	if code := status.Code(err); code == codes.Unknown || code == codes.Internal && r == goesOn {
		return fmt.Sprintf("the driver gets an error without information: %v", err)
	}
	if err := e.again(w); err != nil {
		return fmt.Sprintf("the driver's retry %s fails: %v", r, err)
	}
	if diff := want.diff(w.state()); diff != "" {
		return fmt.Sprintf("after the retry %s (-want +got):\n%s", r, diff)
	}
	return ""
}

// sweepCounts counts points by what was done at them.
type sweepCounts struct {
	mu     sync.Mutex
	counts map[string]int
	all    int // points of the examples that were tried
}

func (c *sweepCounts) there(points int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all += points
}

func (c *sweepCounts) add(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	c.counts[what] += n
}

// tell logs what was done, and the share of all points.
func (c *sweepCounts) tell(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	points := 0
	for _, what := range slices.Sorted(maps.Keys(c.counts)) {
		t.Logf("%6d %s", c.counts[what], what)
		if what != "kernel calls" {
			points += c.counts[what]
		}
	}
	testnode.Tried(t, true, points)
	testnode.Tried(t, false, c.all-points)
}
