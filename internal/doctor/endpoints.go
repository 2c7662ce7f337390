// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// endpoints judges which pipes or sockets exist and how they answer.
func endpoints(f Facts) []Finding {
	by := map[State][]string{}
	for _, e := range f.Endpoints {
		line := e.Address
		if e.Detail != "" && e.State != Absent {
			line += ": " + e.Detail
		}
		by[e.State] = append(by[e.State], line)
	}
	var findings []Finding
	if len(f.Endpoints) > 0 && len(by[Absent])+len(by[Abandoned]) == len(f.Endpoints) {
		finding := Finding{
			Severity: Problem, Check: "no-agent", What: "no agent serves the storage API here",
			Evidence: []string{fmt.Sprintf("none of %d endpoints exists, such as %s", len(f.Endpoints), f.Endpoints[0].Address)},
			Do:       startAgent(f.Endpoints[0].Address),
		}
		if left := by[Abandoned]; len(left) > 0 {
			finding.What += ": its sockets are there, and no process listens, as after it was killed"
			finding.Evidence = []string{fmt.Sprintf("%d sockets, such as %s", len(left), left[0])}
		}
		return []Finding{finding}
	}
	for _, bad := range []struct {
		state       State
		check, what string
		do          []string
	}{
		{Denied, "access-denied", "endpoints refuse this process",
			[]string{"run this command as an administrator; drivers need an account that the agent's -pipe-security admits"}},
		{
			Silent, "silent-endpoint", "endpoints can be opened but do not answer: the agent hangs or is overloaded",
			[]string{"look at the agent's log", "if it stays so, restart the agent"},
		},
		{Broken, "broken-endpoint", "endpoints fail",
			[]string{"check that nothing but csi-proxy serves them, and look at its log"}},
	} {
		if at := by[bad.state]; len(at) > 0 {
			findings = append(findings, Finding{Problem, bad.check, bad.what, at, bad.do})
		}
	}
	return findings
}

// startAgent returns the steps that help where there is no agent: on a Windows node, or elsewhere with an emulated one.
func startAgent(address string) []string {
	if !strings.HasPrefix(address, `\\.\pipe\`) {
		return []string{"csi-proxy-emulated -state-dir=DIR, or give the --socket-dir of the one that runs"}
	}
	return []string{
		"if it is a service: sc query csiproxy",
		"if it is a DaemonSet: check that its pod runs on this node",
		"in a container: check that the pipes are mounted into it",
	}
}

// unanswered judges the questions that were not answered in time.
func unanswered(f Facts) []Finding {
	if len(f.Unanswered) == 0 {
		return nil
	}
	return []Finding{{
		Severity: Problem, Check: "no-answer", What: "the agent did not answer in time: it was asked about " +
			strings.Join(f.Unanswered, ", ") + "; something hangs in Windows, or the node is overloaded",
		Evidence: []string{}, Do: []string{"csi-proxyctl doctor, in some minutes: it names the operations that hang longer " +
			"than any call should take", "look at the agent's log"},
	}}
}

// versionsServed judges whether each group is served, and in its newest version.
func versionsServed(f Facts) []Finding {
	served, present := map[string][]string{}, false
	for _, e := range f.Endpoints {
		if e.State != Absent && e.State != Abandoned && e.Group != "" {
			served[e.Group], present = append(served[e.Group], e.Version), true
		}
	}
	if !present {
		return nil
	}
	var off, old []string
	for _, group := range slices.Sorted(maps.Keys(f.Newest)) {
		switch versions := served[group]; {
		case len(versions) == 0:
			off = append(off, group)
		case !slices.Contains(versions, f.Newest[group]):
			old = append(old, fmt.Sprintf("%s: the newest is %s, served is %s", group, f.Newest[group],
				strings.Join(versions, ", ")))
		}
	}
	var findings []Finding
	if len(off) > 0 {
		findings = append(findings, Finding{
			Severity: Note, Check: "group-off", What: "groups of the API are not served: " +
				strings.Join(off, ", "), Evidence: []string{},
			Do: []string{"if a driver here needs them, look at the agent's -api flags and its version"},
		})
	}
	if len(old) > 0 {
		findings = append(findings, Finding{
			Severity: Note, Check: "old-version", What: "groups are not served in their newest version", Evidence: old,
			Do: []string{"update the agent, or look at its -api flags; older versions lack calls and safeguards"},
		})
	}
	return findings
}
