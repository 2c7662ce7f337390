// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
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
	eachExample(t, 3, 0, func(t *testing.T, i int, e swept) { e.sweep(t, i) })
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

// sweep tries the disturbances of the example with this number.
func (e swept) sweep(t *testing.T, subject int) {
	t.Helper()
	w, i := e.interruption()
	step, sparse := stepOfSweep(), max(1, e.sparse)
	i.Everywhere, i.Retries = true, 1
	i.Disturbances = w.disturbances(e)
	i.Try = func(number int) bool {
		if number%sparse != 0 {
			return false
		}
		is := number/sparse%step == subject%step
		testnode.Tried(t, is, 1)
		return is
	}
	i.Run(t)
}

// interruption returns the world in which an example's call is interrupted, and repeated as drivers do.
func (e swept) interruption() (*world, *csiproxytest.Interruption) {
	w := &world{}
	return w, &csiproxytest.Interruption{
		Setup: func(t testing.TB) *csiproxytest.Node {
			w.start(t)
			if e.prepare != nil {
				e.prepare(w)
			}
			return w.node.Node
		},
		Operation: func(context.Context, *csiproxytest.Node) error {
			w.pulled, w.intended, w.byNumber = "", false, e.method == "NodeSteps/StageDisk"
			w.node.Faults.Calls()
			return e.call(w)
		},
		Repeat: func(context.Context, *csiproxytest.Node) error { return e.again(w) },
		State: func(*csiproxytest.Node) any {
			s := w.state()
			s.Records = nil // after a death it is not always known whose a mapping is
			return s
		},
		Judge: func(t *testing.T, _ *csiproxytest.Node, err error) bool {
			aborted := err != nil && strings.Contains(err.Error(), "ERROR_OPERATION_ABORTED") // by a death
			if code := status.Code(err); code == codes.Unknown || code == codes.Internal && !aborted {
				t.Errorf("the driver gets an error without information: %v", err)
			}
			if e.shared && len(w.state().Mappings) == 0 {
				t.Errorf("the other driver has lost its share: %v", err)
			}
			return false
		},
	}
}
