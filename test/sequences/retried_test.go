// SPDX-License-Identifier: Apache-2.0

package sequences

import (
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

// again plays the life again for samples of its steps and of its kernel calls, each disturbed.
func (l *retriedLife) again(t *testing.T, first, everyStep, everyCall int, play func(*testing.T, disturbance)) {
	t.Helper()
	t.Run("interrupted", func(t *testing.T) {
		eachStep(t, l.calls.taken, func(number int, _ step, m moment) bool {
			return testnode.Sampled(t, 3*number+int(m), first, everyStep)
		}, play)
	})
	t.Run("with kernel faults", func(t *testing.T) {
		eachKernelCall(t, l.kernel, first, everyCall, func(t *testing.T, _ int, d disturbance) { play(t, d) })
	})
}
