// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// retriedLife is one node and the operations of a driver on it, each repeated until it succeeds.
type retriedLife struct {
	t         *testing.T
	node      *caller.Node
	calls     *calls
	disturbed bool
}

func newRetriedLife(t *testing.T, o testnode.Options, d disturbance) *retriedLife {
	t.Helper()
	n := caller.Start(t, o)
	return &retriedLife{t: t, node: n, calls: newCalls(t, n.Node, d.interruption),
		disturbed: d.interruption != nil}
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

// again plays the life again for a sample of its steps, each interrupted.
func (l *retriedLife) again(t *testing.T, first, every int, play func(*testing.T, disturbance)) {
	t.Helper()
	eachStep(t, l.calls.taken, func(number int, _ step, m moment) bool {
		return testnode.Sampled(t, 3*number+int(m), first, every)
	}, play)
}
