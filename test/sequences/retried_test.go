// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// retriedLife is one node and the operations of a driver on it, each repeated when it was interrupted.
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

// errStuck: the driver cannot go on where its interrupted attempt ended, and no agent can help.
var errStuck = errors.New("the driver is stuck")

// retried repeats an operation that was interrupted, as kubelet does, or a provisioner in each period.
func (l *retriedLife) retried(operation string, do func(c *calls) error) {
	l.t.Helper()
	l.calls.begin(operation)
	err := do(l.calls)
	if errors.Is(err, errInterrupted) {
		l.calls.begin(operation)
		err = do(l.calls)
	}
	if err != nil {
		l.t.Fatalf("%s: %v", operation, err)
	}
}

// again plays the life again for a sample of its steps, each interrupted: it fails before it is made or after it took
// effect, or the driver's process ends there.
func (l *retriedLife) again(t *testing.T, first, every int, play func(*testing.T, disturbance)) {
	t.Helper()
	for number, step := range l.calls.taken {
		for _, m := range []moment{before, after, killed} {
			if testnode.Sampled(t, 3*number+int(m), first, every) {
				t.Run(fmt.Sprintf("%03d %s, %s", number, step, m), func(t *testing.T) {
					t.Parallel()
					play(t, disturbance{interruption: &interruption{step: number, moment: m}})
				})
			}
		}
	}
}
