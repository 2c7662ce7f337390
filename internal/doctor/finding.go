// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"slices"
	"strings"
)

// Severity is how bad a finding is.
type Severity string

// The severities, the worst first.
const (
	Problem Severity = "problem" // something does not work
	Warning Severity = "warning" // something is going to hurt, or hides a volume
	Note    Severity = "note"    // worth knowing; often as it should be
)

// Finding is one thing that an administrator should know. The names of its fields are those of csi-proxyctl's JSON and
// YAML.
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

// Reason returns the check as Kubernetes writes reasons: "DanglingMountPoint".
func (f Finding) Reason() string { return reason(f.Check) }

func reason(check string) string {
	var text strings.Builder
	for word := range strings.SplitSeq(check, "-") {
		text.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return text.String()
}

// A look makes findings of a part of the facts.
type look struct {
	judge   func(Facts) []Finding
	missing func(Facts) string // what keeps it from finding anything; "" if nothing does
	checks  string             // that it may report
}

func looks() []look {
	never := func(Facts) string { return "" }
	return []look{
		{endpoints, never, "no-agent access-denied silent-endpoint broken-endpoint"},
		{emulated, noAgent, "active-fault host-disk-full"},
		{unanswered, noAgent, "no-answer"},
		{versionsServed, noAgent, "group-off old-version"},
		{services, noServices, "service-stopped service-not-automatic service-wrapped"},
		{privileges, notInspected(""), "missing-privilege"},
		{operations, notInspected(""), "hung-operation slow-operation"},
		{dangling, notInspected("mount points"),
			"dangling-link dangling-mount-point dangling-share-link left-over-globalmount"},
		{mappings, notInspected("SMB mappings"), "stale-smb-mapping"},
		{mappingsLimit, notInspected("SMB mappings"), "many-smb-mappings"},
		{sessions, notInspected("iSCSI sessions"), "iscsi-disconnected"},
		{disks, noTree, "disk-offline disk-read-only partition-smaller"},
		{volumes, noTree, "volume-not-mounted file-system-smaller"},
		{owners, noTree, "disk-of-two-drivers disk-not-of-kubernetes several-drivers"},
		{automount, noAgent, "automount-off"},
		{sanPolicy, noAgent, "san-policy"},
		{bitLocker, noAgent, "bitlocker-required"},
		{anotherAgent, never, "another-agent"},
		{writable, noAgent, "writable-directory"},
	}
}

// Examine judges the facts. The worst findings come first, and those of one severity in a fixed order.
func Examine(f Facts) []Finding {
	var findings []Finding
	for _, l := range looks() {
		findings = append(findings, l.judge(f)...)
	}
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
