// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/operator/terminal"
)

// The exit codes of a custom plugin of node-problem-detector.
// https://github.com/kubernetes/node-problem-detector/blob/v1.34.0/pkg/custompluginmonitor/types/types.go
const (
	NPDOK      = 0
	NPDProblem = 1
	NPDUnknown = 2
)

// maxNPDLine is how much of a plugin's line node-problem-detector keeps unless it is configured otherwise, in bytes.
const maxNPDLine = 80

// onlyNotes are the checks whose findings are never worse than a note.
const onlyNotes = "active-fault group-off old-version service-wrapped slow-operation staged-not-published " +
	"disk-not-of-kubernetes same-identity"

// Reasons returns the reasons of all findings that can be a problem or a warning, and of those that are only notes.
func Reasons() (reasons, notes []string) {
	for _, l := range (Facts{}).checks() {
		for check := range strings.FieldsSeq(l.checks) {
			if slices.Contains(strings.Fields(onlyNotes), check) {
				notes = append(notes, reason(check))
			} else {
				reasons = append(reasons, reason(check))
			}
		}
	}
	return reasons, notes
}

// NPD returns what a custom plugin of node-problem-detector prints, and its exit code, about the findings that have one
// of the reasons, or about all if no reason is given. A note is no problem. That nothing is wrong is said only of facts
// that are known.
func NPD(f Facts, reasons []string) (line string, exitCode int) {
	wanted := func(reason string) bool { return len(reasons) == 0 || slices.Contains(reasons, reason) }
	findings := slices.DeleteFunc(Examine(f), func(f Finding) bool { return f.Severity == Note || !wanted(f.Reason()) })
	if len(findings) > 0 {
		more := -1
		for _, f := range findings {
			more += f.Count
		}
		return npdLine(findings[0], more), NPDProblem
	}
	for _, l := range f.checks() {
		for check := range strings.FieldsSeq(l.checks) {
			if l.missing != "" && wanted(reason(check)) {
				return "not known: " + l.missing, NPDUnknown
			}
		}
	}
	return "nothing is wrong", NPDOK
}

// npdLine returns a finding in one line: what is wrong, or the part of it before the colon if all is too long.
func npdLine(f Finding, more int) string {
	line, others := f.Reason()+": "+terminal.Text(f.What), ""
	if more > 0 {
		others = fmt.Sprintf(" (and %d more)", more)
	}
	if len(line+others) > maxNPDLine {
		what, _, _ := strings.Cut(f.What, ": ")
		line = f.Reason() + ": " + terminal.Text(what)
	}
	if len(line+others) <= maxNPDLine {
		line += others
	}
	return line
}
