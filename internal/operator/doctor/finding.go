// SPDX-License-Identifier: Apache-2.0

// Package doctor judges the state of a node: what is wrong with it and what to do. It looks at nothing itself but is
// given Facts, which may be incomplete.
package doctor

import (
	"cmp"
	"slices"
	"strings"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
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
	// What states what is wrong, in one sentence: of the first object, where several have the same cause.
	What string `json:"what"`
	// Count is how many objects have the cause.
	Count int `json:"count"`
	// Evidence is what was seen.
	Evidence []Evidence `json:"evidence"`
	// Do lists the steps that help: command lines, or sentences where no command helps.
	Do []string `json:"do"`

	cause string
	cases []instance
}

// Evidence is one thing that was seen: a line, and what it is about. In JSON and YAML it is the line.
type Evidence struct {
	Line string
	User string // the path that uses a volume or share, if the line names one
	Pod  string // the UID of the pod whose path that is
}

// MarshalText implements encoding.TextMarshaler.
func (e Evidence) MarshalText() ([]byte, error) { return []byte(e.Line), nil }

// said returns lines as evidence.
func said(lines ...string) (evidence []Evidence) {
	for _, line := range lines {
		evidence = append(evidence, Evidence{Line: line})
	}
	return evidence
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

// A report collects the findings about facts.
type report struct {
	Facts

	links    linkMap
	users    map[string][]user
	findings []Finding
}

// add adds a finding, or what it says to the one of the same cause: the same text up to the first colon.
func (r *report) add(severity Severity, check, what string, evidence []Evidence, do ...string) {
	cause, _, _ := strings.Cut(what, ": ")
	r.addCase(cause, severity, check, what, evidence, do...)
}

// A check reports about a part of the facts.
type check struct {
	run     func(*report)
	missing string // what keeps it from finding anything; "" if nothing does
	checks  string // that it may report
}

func (f Facts) checks() []check {
	unless := func(known bool, missing string) string {
		if known {
			return ""
		}
		return missing
	}
	noAgent := unless(slices.ContainsFunc(f.Endpoints, Endpoint.Exists), "no agent serves this node")
	noServices := unless(len(f.Services) > 0, "the agent did not tell the states of services")
	noTree := cmp.Or(unless(f.Tree != nil, "the agent did not list the disks"),
		unless(len(f.unknown()) == 0, "Windows did not list all disks and volumes"))
	notSeen := func(parts ...admin.Part) (missing string) { // the agent did not tell its facts, or not those of the parts
		for _, gap := range f.Seen.GetGaps() {
			if slices.Contains(parts, gap.GetAsked()) {
				missing = cmp.Or(missing, "the agent could not look at "+gap.GetPart())
			}
		}
		return cmp.Or(unless(f.Seen != nil, "the agent's admin endpoint did not answer"), missing)
	}
	noContents := cmp.Or(noTree, unless(f.Tree == nil || f.Tree.NoAdmin == nil,
		"the agent did not tell what its disks hold"))
	return []check{
		{(*report).endpoints, "", "no-agent access-denied silent-endpoint broken-endpoint"},
		{(*report).emulated, noAgent, "active-fault host-disk-full"},
		{(*report).unanswered, noAgent, "no-answer"},
		{(*report).versionsServed, noAgent, "group-off old-version"},
		{(*report).unusable, notSeen(admin.Part_PART_UNSPECIFIED), "unusable-directory"},
		{(*report).services, noServices, "service-stopped service-not-automatic service-wrapped"},
		{(*report).privileges, notSeen(), "missing-privilege"},
		{(*report).policy, notSeen(), "policy-refuses"},
		{(*report).operations, notSeen(), "hung-operation slow-operation"},
		{(*report).limits, notSeen(), "too-many-calls too-many-connections"},
		{(*report).contents, noContents, "disk-not-answering disk-unreadable disk-not-blank"},
		{(*report).sessions, notSeen(admin.Part_PART_SESSIONS), "iscsi-disconnected"},
		{(*report).disks, noTree, "disk-offline disk-read-only partition-smaller"},
		{(*report).dangling, notSeen(admin.Part_PART_LINKS),
			"link-to-system-disk dangling-link dangling-mount-point dangling-share-link left-over-globalmount"},
		{(*report).lost, noTree, "volume-not-answering volume-unreadable"},
		{(*report).full, noTree, "volume-full"},
		{(*report).unpublished, notSeen(admin.Part_PART_LINKS), "staged-not-published"},
		{(*report).mappings, notSeen(admin.Part_PART_MAPPINGS, admin.Part_PART_SHARES),
			"stale-smb-mapping many-smb-mappings unused-smb-mappings"},
		{(*report).attributes, noTree, "partition-attribute"},
		{(*report).identities, noTree, "same-identity"},
		{(*report).volumes, noTree, "file-system-smaller"},
		{(*report).owners, noTree, "disk-of-two-drivers disk-not-of-kubernetes"},
		{(*report).settings, noAgent, "automount-off san-policy bitlocker-required"},
		{(*report).anotherAgent, "", "another-agent"},
		{(*report).writable, noAgent, "writable-directory"},
	}
}

// Examine judges the facts. The worst findings come first, and of one severity the causes before their consequences.
func Examine(f Facts) []Finding {
	checks := f.checks()
	f.Tree = cmp.Or(f.Tree, &treeview.Tree{})
	links := linksOf(f.Seen)
	r := &report{Facts: f, links: links, users: usersByTarget(f.Seen, links)}
	for _, l := range checks {
		l.run(r)
	}
	order := []Severity{Problem, Warning, Note}
	slices.SortStableFunc(r.findings, func(a, b Finding) int {
		return cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity))
	})
	return r.findings
}

// Bad reports whether any finding is worse than a note.
func Bad(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity != Note })
}
