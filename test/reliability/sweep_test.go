// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/examples"
)

// changing returns the methods of the newest versions that may change something.
func changing() map[string]bool {
	methods := map[string]bool{}
	for _, m := range node.Methods() {
		if !m.Reads {
			methods[m.Group+"/"+m.Name] = true
		}
	}
	return methods
}

// sweptCalls returns the examples of the methods that may change something.
func sweptCalls() []examples.Example {
	methods := changing()
	return slices.DeleteFunc(examples.All(), func(e examples.Example) bool { return !methods[e.Method] })
}

// TestEveryMethodIsSwept: each method of the newest versions that may change something has an example.
func TestEveryMethodIsSwept(t *testing.T) {
	methods := changing()
	for _, e := range examples.All() {
		delete(methods, e.Method)
	}
	if len(methods) > 0 {
		t.Errorf("methods without an example: %v", methods)
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
	eachExample(t, 3, 0, sweep)
}

// eachExample tries a sample of the examples side by side, see testnode.Sampled.
func eachExample(t *testing.T, every, first int, try func(t *testing.T, number int, e examples.Example)) {
	t.Helper()
	t.Run("examples", func(t *testing.T) {
		for i, e := range sweptCalls() {
			if testnode.Sampled(t, i, first, every) {
				t.Run(strings.ReplaceAll(e.Method, "/", ".")+", "+e.When, func(t *testing.T) {
					t.Parallel()
					try(t, i, e)
				})
			}
		}
	})
}

// sweep tries the disturbances of the example with this number.
func sweep(t *testing.T, subject int, e examples.Example) {
	t.Helper()
	w, i := interruption(e)
	step, sparse := stepOfSweep(), max(1, e.Sparse)
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
func interruption(e examples.Example) (*world, *csiproxytest.Interruption) {
	w := &world{}
	return w, &csiproxytest.Interruption{
		Setup: func(t testing.TB) *csiproxytest.Node {
			w.start(t)
			if e.Prepare != nil {
				e.Prepare(w.Node)
			}
			return w.node.Node
		},
		Operation: func(context.Context, *csiproxytest.Node) error {
			w.pulled, w.intended, w.offline, w.method = "", false, false, e.Method
			w.node.Faults.Calls()
			return e.Call(w.Node)
		},
		Repeat: func(context.Context, *csiproxytest.Node) error { return w.again(e) },
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
			if e.Shared && len(w.state().Mappings) == 0 {
				t.Errorf("the other driver has lost its share: %v", err)
			}
			return false
		},
	}
}

// again does what drivers do after a failure. Of a disk that went away while its volume was being unstaged, a driver
// finds the rest when it is back.
func (w *world) again(e examples.Example) error {
	err := e.Again(w.Node)
	if err == nil && e.Method == "nodesteps/Unstage" && w.pulled != "" {
		err = w.SetDiskState(examples.TheDisk, false)
	}
	return err
}
