// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"math"
	"time"
)

// An operation takes less than slow on a healthy node. The agent lets no call take as long as hung: the caller of an
// operation that runs longer has given up.
const (
	slow = 5 * time.Second
	hung = 2 * time.Minute
)

// operations judges work that does not end.
func operations(f Facts) []Finding {
	var findings []Finding
	if lines := running(f, hung, math.MaxInt64); len(lines) > 0 {
		findings = append(findings, Finding{
			Severity: Problem, Check: "hung-operation", What: "the agent waits for Windows and gets no answer",
			Evidence: lines,
			Do: []string{
				"look in Event Viewer, log System, sources disk, Ntfs and iScsiPrt, for a device that does not answer",
				"repeat the call later: it joins the one that runs. Restarting the agent does not end a call that hangs in " +
					"Windows; restarting the node does",
			},
		})
	}
	if lines := running(f, slow, hung); len(lines) > 0 {
		findings = append(findings, Finding{
			Severity: Note, Check: "slow-operation", What: "the agent has waited for Windows for more than five seconds",
			Evidence: lines, Do: []string{"csi-proxyctl doctor, in two minutes: what has not ended by then hangs"},
		})
	}
	return findings
}

// running returns the operations of an age, those that wait for others last.
func running(f Facts, from, to time.Duration) (lines []string) {
	var waiting []string
	for _, o := range f.Inspected.GetOperations() {
		age := o.GetAge().AsDuration()
		line := fmt.Sprintf("%s, for %v", o.GetName(), age.Round(time.Second))
		switch {
		case age < from || age >= to:
		case o.GetWaiting():
			waiting = append(waiting, line+", waiting for others")
		default:
			lines = append(lines, line)
		}
	}
	return append(lines, waiting...)
}
