// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
)

// refusedLately is for how long a refused call is a finding: kubelet repeats what failed within some two minutes.
const refusedLately = 5 * time.Minute

// usage is how full the limits of one process are, or of all together, by what they bound.
type usage map[string]*admin.Limit

// limits judges processes, and all of them together, that have as much open as they may.
func (r *report) limits() {
	of := map[string]usage{}
	for _, l := range r.Seen.GetLimits() {
		if of[l.GetProcess()] == nil {
			of[l.GetProcess()] = usage{}
		}
		of[l.GetProcess()][l.GetWhat()] = l
	}
	all := of[""]
	delete(of, "")
	for _, process := range slices.Sorted(maps.Keys(of)) {
		r.limitsOf(process, of[process])
	}
	r.limitsOfAll(all, of)
}

// lookForHangs is the first step when calls have no place.
const lookForHangs = "if calls hang, another finding says so: their places are free when they end"

func (r *report) limitsOf(process string, u usage) {
	evidence := said(process + ": " + u.String())
	refused := u["calls"].GetRefusedAge()
	if refused != nil {
		evidence = append(evidence, said(fmt.Sprintf("a call was refused with TOO_MANY_CALLS %v ago",
			refused.AsDuration().Round(time.Second)))...)
	}
	switch end := "its calls end with it: kubectl delete pod -n NAMESPACE POD, of the driver"; {
	case u.full("waits"):
		r.add(Problem, "too-many-calls", "a process has used up its waits for disks, and more are refused: "+process,
			append(evidence, said(fmt.Sprintf("%d calls of a connection wait for disks that did not arrive",
				u["waits"].GetUsed()))...), whereAttached, "look at the storage system: why it does not attach the others", end)
	case u.full("calls") || u.full("operations"):
		r.add(Problem, "too-many-calls", "a process has used up its calls, and more are refused: "+process,
			evidence, lookForHangs, "if none hangs, restart it, and "+end)
	case refused != nil && refused.AsDuration() < refusedLately:
		r.add(Warning, "too-many-calls", "too many calls of a process were open, and some refused: "+process,
			evidence, lookForHangs, "if it comes back: see in the agent's log which calls these are")
	case u.full("connections"):
		r.add(Warning, "too-many-connections", "a process has used up its connections, idle ones are closed: "+process,
			evidence, "let the driver close what it opens; until then, restart its pod")
	}
}

func (r *report) limitsOfAll(u usage, processes map[string]usage) {
	evidence := said("beyond each process's reserve: " + u.String())
	size := func(process string) int64 {
		return processes[process]["calls"].GetUsed() + processes[process]["connections"].GetUsed()
	}
	largest := slices.SortedStableFunc(maps.Keys(processes), func(a, b string) int { return int(size(b) - size(a)) })
	for _, process := range largest[:min(len(largest), 3)] {
		evidence = append(evidence, said(process+": "+processes[process].String())...)
	}
	if u.full("calls") || u.full("operations") {
		r.add(Problem, "too-many-calls", "all processes together have used up the agent's calls", evidence, lookForHangs,
			"if none hangs, restart the first of these: kubectl delete pod -n NAMESPACE POD, of the driver")
	}
	if u.full("connections") {
		r.add(Warning, "too-many-connections", "all processes together have used up the connections",
			evidence, "let the first of these close what it opens; until then, restart its pod")
	}
}

func (u usage) full(what string) bool {
	return u[what].GetMost() > 0 && u[what].GetUsed() >= u[what].GetMost()
}

// String says how much is used: "4 of 4 calls open, 2 of 4 operations running, 1 of 4 connections".
func (u usage) String() string {
	var parts []string
	for _, of := range [][2]string{{"calls", " open"}, {"operations", " running"}, {"connections", ""}} {
		if l := u[of[0]]; l != nil {
			parts = append(parts, fmt.Sprintf("%d of %d %s%s", l.GetUsed(), l.GetMost(), of[0], of[1]))
		}
	}
	return strings.Join(parts, ", ")
}
