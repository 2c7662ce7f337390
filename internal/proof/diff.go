// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
)

// A Difference is a check, a part or an answer that two reports have differently. Absent stands for one that a report
// lacks.
type Difference struct {
	What  string `json:"what"` // "lives-child TestLifecycle/v1" or "R3"
	One   string `json:"one"`
	Other string `json:"other"`
}

// Absent stands for what a report lacks.
const Absent = "absent"

// Diff returns how two reports differ in verdicts and answers. Times and texts of failures do not count.
func Diff(one, other *Report) []Difference {
	a, b := one.outcomes(), other.outcomes()
	names := maps.Clone(a)
	maps.Copy(names, b)
	var all []Difference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if d := (Difference{name, cmp.Or(a[name], Absent), cmp.Or(b[name], Absent)}); d.One != d.Other {
			all = append(all, d)
		}
	}
	return all
}

// outcomes returns the verdicts and answers of a report by name.
func (r *Report) outcomes() map[string]string {
	all := map[string]string{}
	for _, p := range r.Parts {
		all[p.Name] = string(p.Verdict)
		for _, c := range p.Checks {
			all[p.Name+" "+c.Test] = string(c.Verdict)
			for method, ended := range c.Methods {
				all[p.Name+" "+method] = ended
			}
		}
	}
	for _, a := range r.Answers {
		all[a.Question] = a.Said()
	}
	return all
}

// Said returns the answer on one line.
func (a Answer) Said() string {
	var line bytes.Buffer
	switch {
	case a.Status != "answered" && a.Reason != "":
		return a.Status + ": " + a.Reason
	case len(a.Answer) == 0 || json.Compact(&line, a.Answer) != nil:
		return a.Status
	}
	return line.String()
}
