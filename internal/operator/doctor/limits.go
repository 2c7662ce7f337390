// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"time"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
)

// refusedLately is for how long a refused call is a finding: kubelet repeats what failed within some two minutes.
const refusedLately = 5 * time.Minute

// limits judges processes, and all of them together, that have as much open as they may.
func (r *report) limits() {
	const look = "if calls hang, another finding says so: their places are free when they end"
	l := r.Seen.GetLimits()
	for _, c := range l.GetClients() {
		evidence := said(c.GetProcess() + ": " + usages(c.GetCalls(), c.GetOperations(), c.GetConnections()))
		if c.GetQueued() > 0 {
			evidence = append(evidence, said(fmt.Sprintf("%d calls wait until an operation ends", c.GetQueued()))...)
		}
		if c.GetRefused() > 0 {
			evidence = append(evidence, said(fmt.Sprintf("%d calls were refused with TOO_MANY_CALLS, the last %v ago",
				c.GetRefused(), c.GetRefusedAge().AsDuration().Round(time.Second)))...)
		}
		switch end := "its calls end with it: kubectl delete pod -n NAMESPACE POD, of the driver"; {
		case full(c.GetWaits()):
			r.add(Problem, "too-many-calls", "a process has used up its waits for disks, and more are refused: "+
				c.GetProcess(), append(evidence, said(fmt.Sprintf("%d calls of a connection wait for disks that did not arrive",
				c.GetWaits().GetUsed()))...), whereAttached, "look at the storage system: why it does not attach the others", end)
		case full(c.GetCalls()) || full(c.GetOperations()):
			r.add(Problem, "too-many-calls", "a process has used up its calls, and more are refused: "+
				c.GetProcess(), evidence, look, "if none hangs, restart it, and "+end)
		case c.GetRefused() > 0 && c.GetRefusedAge().AsDuration() < refusedLately:
			r.add(Warning, "too-many-calls", "too many calls of a process were open, and some refused: "+c.GetProcess(),
				evidence, look, "if it comes back: see in the agent's log which calls these are")
		case full(c.GetConnections()):
			r.add(Warning, "too-many-connections", "a process has used up its connections, idle ones are closed: "+
				c.GetProcess(), evidence, "let the driver close what it opens; until then, restart its pod")
		}
	}
	evidence := said("beyond each process's reserve: " + usages(l.GetCalls(), l.GetOperations(), l.GetConnections()))
	for _, c := range largest(l.GetClients()) {
		evidence = append(evidence, said(c.GetProcess()+": "+usages(c.GetCalls(), c.GetOperations(), c.GetConnections()))...)
	}
	if full(l.GetCalls()) || full(l.GetOperations()) {
		r.add(Problem, "too-many-calls", "all processes together have used up the agent's calls",
			evidence, look, "if none hangs, restart the first of these: kubectl delete pod -n NAMESPACE POD, of the driver")
	}
	if full(l.GetConnections()) {
		r.add(Warning, "too-many-connections", "all processes together have used up the connections",
			evidence, "let the first of these close what it opens; until then, restart its pod")
	}
}

func full(u *admin.Usage) bool { return u.GetLimit() > 0 && u.GetUsed() >= u.GetLimit() }

func usages(calls, operations, connections *admin.Usage) string {
	of := func(u *admin.Usage, what string) string {
		return fmt.Sprintf("%d of %d %s", u.GetUsed(), u.GetLimit(), what)
	}
	return of(calls, "calls open, ") + of(operations, "operations running, ") + of(connections, "connections")
}

// largest returns the processes with the most calls and connections, three of them at most.
func largest(clients []*admin.Client) []*admin.Client {
	size := func(c *admin.Client) int64 { return c.GetCalls().GetUsed() + c.GetConnections().GetUsed() }
	all := slices.Clone(clients)
	slices.SortStableFunc(all, func(a, b *admin.Client) int { return int(size(b) - size(a)) })
	return all[:min(len(all), 3)]
}
