// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"time"
)

// hung is longer than the agent lets any of its calls take: the caller of an operation that runs longer has given up.
const hung = 2 * time.Minute

// operations judges work that does not end.
func operations(f Facts) []Finding {
	var working, waiting []string
	for _, o := range f.Inspected.GetOperations() {
		switch line := fmt.Sprintf("%s, for %v", o.GetName(), o.GetAge().AsDuration().Round(time.Second)); {
		case o.GetAge().AsDuration() < hung:
		case o.GetWaiting():
			waiting = append(waiting, line+", waiting for others")
		default:
			working = append(working, line)
		}
	}
	if len(working)+len(waiting) == 0 {
		return nil
	}
	return []Finding{{
		Severity: Problem, Check: "hung-operation", What: "the agent waits for Windows and gets no answer",
		Evidence: append(working, waiting...),
		Do: []string{
			"look in Event Viewer, log System, sources disk, Ntfs and iScsiPrt, for a device that does not answer",
			"repeat the call later: it joins the one that runs. Restarting the agent does not end a call that hangs in " +
				"Windows; restarting the node does",
		},
	}}
}
