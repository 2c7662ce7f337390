// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
)

// An instance is one object of a finding: what was seen of it, and the steps for it.
type instance struct {
	evidence []Evidence
	do       []string
}

// addCase adds an object to the finding of a cause, which it makes if it is the first one.
func (r *report) addCase(cause string, severity Severity, check, what string, evidence []Evidence, do ...string) {
	at := slices.IndexFunc(r.findings,
		func(f Finding) bool { return f.Severity == severity && f.Check == check && f.cause == cause })
	if at < 0 {
		at = len(r.findings)
		r.findings = append(r.findings, Finding{Severity: severity, Check: check, What: what, cause: cause,
			Evidence: []Evidence{}, Do: []string{}})
	}
	f := &r.findings[at]
	f.Count++
	f.cases = append(f.cases, instance{missingIn(f.Evidence, evidence), do})
	f.Evidence = append(f.Evidence, f.cases[len(f.cases)-1].evidence...)
	f.Do = append(f.Do, missingIn(f.Do, do)...)
}

// missingIn returns the lines that are not among those of a list.
func missingIn[E comparable](list, lines []E) (more []E) {
	for _, line := range lines {
		if !slices.Contains(list, line) {
			more = append(more, line)
		}
	}
	return more
}

// What a person reads of a finding: most lines about the first of its objects, and few about two others.
const (
	mostObjects = 3
	mostLines   = 8
)

// short returns the first line of an object's evidence, and the first that says what uses it.
func short(evidence []Evidence) []Evidence {
	first := evidence[:min(len(evidence), 1)]
	for _, e := range evidence[len(first):] {
		if e.User != "" {
			return []Evidence{evidence[0], e}
		}
	}
	return first
}

// Title returns what is wrong, and of how many objects.
func (f Finding) Title() string {
	if f.Count <= 1 {
		return f.What
	}
	return fmt.Sprintf("%s (and %d more)", f.What, f.Count-1)
}

// Brief returns the evidence and the steps that fit on a screen. The last line of the evidence counts the rest.
func (f Finding) Brief() (evidence []Evidence, do []string) {
	left := 0
	for i, c := range f.cases {
		lines := c.evidence[:min(len(c.evidence), mostLines)]
		if i > 0 {
			lines = short(c.evidence)
		}
		if i >= mostObjects {
			lines = nil
		}
		evidence, left = append(evidence, lines...), left+len(c.evidence)-len(lines)
	}
	do = f.Do
	rest := ""
	if f.Count > mostObjects && len(do) > len(f.cases[0].do) {
		do, rest = f.cases[0].do, ", and the steps for each"
	}
	if left > 0 {
		evidence = append(evidence, said(fmt.Sprintf("and %d more%s: csi-proxyctl doctor -o wide", left, rest))...)
	}
	return evidence, do
}
