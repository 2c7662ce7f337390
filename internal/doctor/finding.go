// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"slices"
)

// Severity is how bad a finding is.
type Severity string

// The severities, the worst first.
const (
	Problem Severity = "problem" // something does not work
	Warning Severity = "warning" // something is going to hurt, or hides a volume
	Note    Severity = "note"    // worth knowing; often as it should be
)

// Finding is one thing that somebody should know. The names of its fields are those of csi-proxyctl's JSON and YAML.
type Finding struct {
	Severity Severity `json:"severity"`
	// Check is a stable name, for machines: "dangling-mount-point".
	Check string `json:"check"`
	// What states what is wrong, in one sentence.
	What string `json:"what"`
	// Evidence is what was seen.
	Evidence []string `json:"evidence"`
	// Do lists the steps that help: command lines, or sentences where no command helps.
	Do []string `json:"do"`
}

// Examine judges the facts. The worst findings come first, and those of one severity in a fixed order.
func Examine(f Facts) []Finding {
	findings := slices.Concat(
		endpoints(f), emulated(f), unanswered(f), versionsServed(f), services(f), privileges(f), operations(f),
		dangling(f), mappings(f),
		mappingsLimit(f), sessions(f), disks(f), volumes(f), owners(f), automount(f),
		sanPolicy(f), bitLocker(f), anotherAgent(f), writable(f),
	)
	order := []Severity{Problem, Warning, Note}
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity))
	})
	return findings
}

// Bad reports whether any finding is worse than a note.
func Bad(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity != Note })
}
