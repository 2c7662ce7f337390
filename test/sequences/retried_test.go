// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"fmt"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// provisionerLife is one node with local volumes and a provisioner, which a disturbance meets.
type provisionerLife struct {
	t          *testing.T
	node       *testnode.Node
	calls      *calls
	capacities map[string]int64 // of the volumes, as they are
	kernel     []kernel.Call
}

func newProvisionerLife(t *testing.T, erase bool, d disturbance) *provisionerLife {
	t.Helper()
	n := testnode.Start(t, testnode.Options{WorkingDirs: []string{`C:\mnt`}, EraseOnFormat: erase})
	return &provisionerLife{t: t, node: n, calls: newCalls(t, n, d.interruption)}
}

// injectFault begins the life once the administrator has made the volumes.
func (l *provisionerLife) injectFault(d disturbance) {
	l.node.Faults.Calls()
	if d.fault != nil {
		l.node.Faults.Add(*d.fault)
	}
}

func (l *provisionerLife) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// interrupt plays the life again for a sample of its steps, with that step interrupted.
func (l *provisionerLife) interrupt(t *testing.T, first, every int, play func(*testing.T, disturbance)) {
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

// fail plays the life again for a sample of its kernel calls, with that call failing once.
func (l *provisionerLife) fail(t *testing.T, first, every int, play func(*testing.T, disturbance)) {
	t.Helper()
	for number, call := range l.kernel {
		if !testnode.Sampled(t, number, first, every) {
			continue
		}
		fault := testnode.Fault{
			Function: call.Function, Code: call.Code, Skip: alike(l.kernel[:number], call), Times: 1,
			Error: transientError(call, number),
		}
		t.Run(fmt.Sprintf("%03d %s %#x", number, call.Function, call.Code), func(t *testing.T) {
			t.Parallel()
			play(t, disturbance{fault: &fault})
		})
	}
}
