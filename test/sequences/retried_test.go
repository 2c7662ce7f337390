// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"fmt"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// retriedLife is one node and the operations of a driver on it, each repeated until it succeeds.
type retriedLife struct {
	t         *testing.T
	node      *caller.Node
	calls     *calls
	disturbed bool
	kernel    []kernel.Call
}

func newRetriedLife(t *testing.T, o testnode.Options, d disturbance) *retriedLife {
	t.Helper()
	n := caller.Start(t, o)
	return &retriedLife{t: t, node: n, calls: newCalls(t, n.Node, d.interruption),
		disturbed: d.interruption != nil || d.fault != nil}
}

// injectFault begins the life once the node is prepared.
func (l *retriedLife) injectFault(d disturbance) {
	l.node.Faults.Calls()
	if d.fault != nil {
		l.node.Faults.Add(*d.fault)
	}
}

func (l *retriedLife) must(err error) { l.t.Helper(); caller.OK(l.t, err) }

// retried repeats an operation while it fails, as kubelet does, or a provisioner in each period.
func (l *retriedLife) retried(operation string, do func(c *calls) error) {
	l.t.Helper()
	var err error
	for range 1 + retries {
		l.calls.begin(operation)
		if err = do(l.calls); err == nil {
			return
		}
	}
	l.t.Fatalf("%s does not recover: %v", operation, err)
}

// interrupt plays the life again for a sample of its steps, with that step interrupted.
func (l *retriedLife) interrupt(t *testing.T, first, every int, play func(*testing.T, disturbance)) {
	t.Helper()
	for number, step := range l.calls.taken {
		for _, m := range []moment{before, after, killed} {
			if !testnode.Sampled(t, 3*number+int(m), first, every) {
				continue
			}
			t.Run(fmt.Sprintf("%03d %s, %s", number, step, m), func(t *testing.T) {
				t.Parallel()
				play(t, disturbance{interruption: &interruption{step: number, moment: m}})
			})
		}
	}
}

// fail plays the life again for a sample of its kernel calls, with that call failing once, before or after it took
// effect.
func (l *retriedLife) fail(t *testing.T, first, every int, play func(*testing.T, disturbance)) {
	t.Helper()
	for number, call := range l.kernel {
		for i, late := range []bool{false, true} {
			if !testnode.Sampled(t, 2*number+i, first, every) {
				continue
			}
			t.Run(fmt.Sprintf("%03d %s %#x, after=%t", number, call.Function, call.Code, late), func(t *testing.T) {
				t.Parallel()
				play(t, disturbance{fault: faultAt(l.kernel, number, late)})
			})
		}
	}
}
