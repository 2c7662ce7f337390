// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
)

// An operation takes less than slow on a healthy node. One that takes as long as stuck hangs, as in the metric
// csi_proxy_kernel_calls_stuck. The agent lets no call take as long as hung: its caller has given up.
const (
	slow  = 5 * time.Second
	stuck = 30 * time.Second
	hung  = 2 * time.Minute
)

const callersWait = "a pod whose volume this is waits, as in ContainerCreating or Terminating"

// operations judges work that does not end.
func (r *report) operations() {
	severity := Warning
	if len(r.running(hung, math.MaxInt64)) > 0 {
		severity = Problem
	} else if len(r.Unanswered)+len(r.unknown()) > 0 {
		return // what hangs is named with the questions
	}
	waits := r.running(stuck, math.MaxInt64)
	if len(waits) == 0 && !r.silent() {
		waits = r.awaited(stuck)
	}
	const agents = "restarting the agent ends no call that hangs in Windows; restarting the node does"
	byServer := map[string][]Evidence{}
	driversWait := map[string][]Evidence{}
	for _, w := range waits {
		byServer[w.GetServer()] = append(byServer[w.GetServer()], said(w.line)...)
		if w.GetCall() && w.GetObject() != "" { // a look of the agent's own, and a rescan, keep no pod waiting
			driversWait[w.GetServer()] = said(callersWait)
		}
	}
	for _, server := range slices.Sorted(maps.Keys(byServer)) {
		if server == "" {
			r.add(severity, "hung-operation", "the agent waits for Windows and gets no answer",
				append(byServer[server], driversWait[server]...), systemLog,
				"repeat the call later: it joins the one that runs", agents)
			continue
		}
		r.add(severity, "hung-operation", "the agent waits for a file server and gets no answer: "+server,
			append(byServer[server], driversWait[server]...), testServer(server), smbLog, agents)
	}
	if waits = r.running(slow, stuck); len(waits) > 0 {
		r.add(Note, "slow-operation", "the agent has waited for Windows for more than five seconds", said(lines(waits)...),
			"csi-proxyctl doctor, in half a minute: what has not ended by then hangs")
	}
}

// testServer returns the step that shows whether a file server answers.
func testServer(name string) string {
	return command("check that the file server answers from this node: Test-NetConnection %s -Port 445",
		argument{"SERVER", name})
}

// A wait is an operation that has not ended, as a line of evidence.
type wait struct {
	*admin.Operation

	line string
}

func lines(waits []wait) (list []string) {
	for _, w := range waits {
		list = append(list, w.line)
	}
	return list
}

// running returns the calls of an age, those that wait for others last. Of several with one name, such as repeated
// questions, the oldest is returned.
func (r *report) running(from, to time.Duration) (list []wait) {
	var waiting []wait
	seen := map[string]bool{}
	for _, o := range r.Seen.GetOperations() {
		age := o.GetAge().AsDuration()
		line := fmt.Sprintf("%s, for %v", o.GetName(), age.Round(time.Second))
		again := seen[o.GetName()]
		seen[o.GetName()] = true
		switch {
		case again || age < from || age >= to || !o.GetCall():
		case o.GetWaiting():
			waiting = append(waiting, wait{o, line + ", waiting for others"})
		default:
			list = append(list, wait{o, line})
		}
	}
	return append(list, waiting...)
}

// awaited returns the objects that the agent's own looks have waited for, for at least so long.
func (r *report) awaited(from time.Duration) (list []wait) {
	seen := map[string]bool{}
	for _, o := range r.Seen.GetOperations() {
		age := o.GetAge().AsDuration()
		if object := o.GetObject(); !o.GetCall() && object != "" && !seen[object] && age >= from {
			seen[object] = true
			list = append(list, wait{o, fmt.Sprintf("%s has not answered for %v", object, age.Round(time.Second))})
		}
	}
	return list
}

// silent reports whether another finding says what does not answer.
func (r *report) silent() bool {
	return len(r.Tree.Unknown) > 0 ||
		slices.ContainsFunc(r.Seen.GetMappings(), func(m *admin.SMBMapping) bool { return m.GetError() != "" }) ||
		slices.ContainsFunc(r.Seen.GetLinks(), func(l *admin.Link) bool { return l.GetUnknown() != "" })
}
