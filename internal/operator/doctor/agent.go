// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
)

// endpoints judges which pipes or sockets exist and how they answer.
func (r *report) endpoints() {
	by := map[State][]string{}
	for _, e := range r.Endpoints {
		by[e.State] = append(by[e.State], e.Address)
	}
	if len(r.Endpoints) > 0 && len(by[Absent])+len(by[Abandoned]) == len(r.Endpoints) {
		what, first := "no agent serves the storage API here", r.Endpoints[0].Address
		evidence := fmt.Sprintf("none of %d endpoints exists, such as %s", len(r.Endpoints), first)
		if left := by[Abandoned]; len(left) > 0 {
			what += ": its sockets are there, and no process listens, as after it was killed"
			evidence = fmt.Sprintf("%d sockets, such as %s", len(left), left[0])
		}
		r.add(Problem, "no-agent", what, said(evidence,
			"pods that run keep their volumes; none is mounted or unmounted meanwhile"), startAgent(first)...)
		return
	}
	bad := func(state State, check, what string, do ...string) {
		if len(by[state]) > 0 {
			r.add(Problem, check, what, said(r.inState(state)...), do...)
		}
	}
	bad(Denied, "access-denied", "endpoints refuse this process",
		"run this command as an administrator; drivers need an account that the agent's -pipe-security admits")
	bad(Silent, "silent-endpoint", "endpoints can be opened but do not answer: the agent hangs or is overloaded",
		"csi-proxyctl doctor: again, without --timeout", "look at the agent's log", "if it stays so, restart the agent")
	bad(Broken, "broken-endpoint", "endpoints fail", "check that nothing but csi-proxy serves them, and look at its log")
}

// inState names the endpoints in a state, and those with the same detail in one line.
func (r *report) inState(state State) (lines []string) {
	addresses := map[string][]string{}
	for _, e := range r.Endpoints {
		if e.State == state {
			addresses[e.Detail] = append(addresses[e.Detail], e.Address)
		}
	}
	for _, detail := range slices.Sorted(maps.Keys(addresses)) {
		all := addresses[detail]
		line := all[0]
		if len(all) > 1 {
			line = fmt.Sprintf("%d endpoints, such as %s", len(all), all[0])
		}
		if detail != "" {
			line += ": " + detail
		}
		lines = append(lines, line)
	}
	return lines
}

// startAgent returns the steps that help where there is no agent: on a Windows node, or elsewhere with an emulated one.
func startAgent(address string) []string {
	if !strings.HasPrefix(address, `\\.\pipe\`) {
		return []string{"csi-proxy-emulated -state-dir=DIR, or give the --socket-dir of the one that runs"}
	}
	return []string{
		"if it is a service: sc.exe query csiproxy",
		"if it is a DaemonSet: check that its pod runs on this node",
		"in a container: check that the pipes are mounted into it",
	}
}

// unanswered judges the questions that were not answered in time, by the agent or by Windows.
func (r *report) unanswered() {
	what, evidence := "Windows does not say which disks and volumes this node has", said(r.unknown()...)
	if len(evidence) == 0 {
		silent := func(e Endpoint) bool { return e.State == Silent }
		if len(r.Unanswered) == 0 || slices.ContainsFunc(r.Endpoints, silent) { // else the agent is the cause
			return
		}
		what = "no answer came in time: about " + strings.Join(r.Unanswered, ", ") +
			"; something hangs in Windows, or the node is overloaded"
	}
	list := "disk"
	if r.Tree.Disks != nil {
		list = "volume"
	}
	var ofMappings, ofDisks bool
	for _, g := range r.Seen.GetGaps() {
		mappings := g.GetAsked() == admin.Part_PART_MAPPINGS
		ofMappings, ofDisks = ofMappings || g.GetUnanswered() && mappings, ofDisks || g.GetUnanswered() && !mappings
	}
	var logs []string
	if ofMappings {
		logs = append(logs, smbLog)
	}
	if ofDisks || !ofMappings || len(evidence) > 0 {
		logs = append(logs, systemLog)
	}
	do := []string{"csi-proxyctl " + list + " list: whether it fails again", "look at the agent's log", systemLog}
	if len(r.Unanswered) > 0 || r.Tree.Unanswered {
		if len(evidence) > 0 {
			what = "Windows hangs at its disks or volumes: it does not say which ones this node has"
		}
		do = slices.Concat(logs, []string{
			"look at the storage system and the path to it: what hangs may come back with all data",
			"if it stays so: drain and restart the node; restarting the agent ends no call that hangs in Windows"})
	}
	awaited := slices.DeleteFunc(r.awaited(time.Second),
		func(w wait) bool { return slices.Contains(r.Tree.Silent, w.GetObject()) })
	first := min(len(evidence), 1)
	evidence = slices.Concat(evidence[:first], r.mayWait(), evidence[first:],
		said(lines(r.running(slow, math.MaxInt64))...), said(lines(awaited)...))
	r.add(Problem, "no-answer", what, evidence, do...)
}

// mayWait names pods with volumes here, three of them at most: any of these may be on a disk that does not answer.
func (r *report) mayWait() []Evidence {
	const most = 3
	var all []Evidence
	for _, l := range r.Seen.GetLinks() {
		if l.GetKind() == admin.Target_TARGET_VOLUME {
			all = append(all, missingIn(all, r.usersOf(l.GetTarget()))...)
		}
	}
	if more := len(all) - most; more > 0 {
		all = append(all[:most], said(fmt.Sprintf("and %d paths more", more))...)
	}
	return all
}

// versionsServed judges whether each group is served, and in its newest version.
func (r *report) versionsServed() {
	served := map[string][]string{}
	for _, e := range r.Endpoints {
		if e.Exists() && e.Group != "" {
			served[e.Group] = append(served[e.Group], e.Version)
		}
	}
	var off, old []string
	for _, group := range slices.Sorted(maps.Keys(r.Newest)) {
		switch versions := served[group]; {
		case len(versions) == 0:
			off = append(off, group)
		case !slices.Contains(versions, r.Newest[group]):
			old = append(old, fmt.Sprintf("%s: the newest is %s, served is %s", group, r.Newest[group],
				strings.Join(versions, ", ")))
		}
	}
	if len(served) > 0 && len(off) > 0 {
		r.add(Note, "group-off", "groups of the API are not served: "+strings.Join(off, ", "), nil,
			"if a driver here needs them, look at the agent's -api flags and its version")
	}
	if len(old) > 0 {
		r.add(Note, "old-version", "groups are not served in their newest version", said(old...),
			"update the agent, or look at its -api flags; older versions lack calls and safeguards")
	}
}

// anotherAgent reports endpoints that another process serves. An unexpected server may get the calls of drivers.
func (r *report) anotherAgent() {
	served := map[string][]string{}
	for _, e := range r.Endpoints {
		if e.Server != "" {
			served[e.Server] = append(served[e.Server], e.Address)
		}
	}
	servers := slices.SortedFunc(maps.Keys(served), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(served[b]), len(served[a])), cmp.Compare(a, b))
	})
	if len(servers) < 2 {
		return
	}
	var evidence []string
	for _, server := range servers[1:] { // the first is the node's
		evidence = append(evidence, fmt.Sprintf("%s serves %d endpoints, such as %s", server, len(served[server]),
			served[server][0]))
	}
	r.add(Problem, "another-agent",
		"another agent serves endpoints here: calls that are meant for one agent reach the other", said(evidence...),
		"end the process, or uninstall the service or the DaemonSet that starts it")
}

// privileges judges the account that the agent runs as.
func (r *report) privileges() {
	for _, p := range r.Seen.GetMissingPrivileges() {
		r.add(Problem, "missing-privilege", "the agent's account lacks a privilege for "+p.GetNeededFor(),
			said(p.GetName()+" ("+p.GetUserRight()+"): not in the token of the agent's process",
				"pods that need it meanwhile wait, as in ContainerCreating; those that run go on"),
			`run the agent as LocalSystem; in a HostProcess pod that is runAsUserName: NT AUTHORITY\SYSTEM`,
			"or grant its account this user right, and start the agent again",
			"if it is a service, see whether it is limited to some privileges: sc.exe qprivs csiproxy")
	}
}

// unusable judges the directories that the agent was told to work in.
func (r *report) unusable() {
	for _, d := range r.Seen.GetUnusableDirectories() {
		do := []string{"correct the agent's -kubelet-path or -working-dir",
			"if it lies on another volume: csi-proxyctl tree, and see whether its disk is there"}
		if d.GetLinkTarget() != "" {
			do = []string{command("if the link is meant: start the agent with -working-dir=%s as well",
				argument{"DIRECTORY", d.GetLinkTarget()})}
		}
		r.add(Problem, "unusable-directory", "calls fail for all paths below a directory of the agent: "+d.GetPath(),
			said(d.GetError()), do...)
	}
}
