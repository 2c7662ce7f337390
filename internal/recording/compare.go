// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A question is what an answer is compared by.
type question struct {
	Test  string
	Call  string // the function, with its control code or information class, and what it was called on
	Field string // of the answer; "error"; "call": whether it was made at all
}

// A Difference is what two machines answered differently to the same calls.
type Difference struct {
	question
	Recorded, Emulated string // the answers that only this one gave, "-" for none
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: %s: %s: recorded %s, emulated %s", d.Test, d.Call, d.Field, d.Recorded, d.Emulated)
}

// answers are the values that the fields of the answers had.
type answers map[question]map[string]bool

// Compare finds what an emulated node answered otherwise than a recorded machine did, in the tests that both ran.
//
// Agents on two machines make the same calls in other orders, and more or fewer of them: they ask several disks side by
// side, and wait until something has happened. So what is compared is, of all calls of one kind on one kind of object,
// the set of values that each field of the answer had. Names that a machine makes up count as equal.
func Compare(recorded, emulated []Call) (found []Difference) {
	theirs, ours := gather(recorded), gather(emulated)
	all := maps.Clone(theirs)
	maps.Copy(all, ours)
	seen := map[Difference]bool{}
	for _, q := range slices.SortedFunc(maps.Keys(all), func(a, b question) int {
		return cmp.Or(cmp.Compare(a.Test, b.Test), cmp.Compare(a.Call, b.Call), cmp.Compare(a.Field, b.Field))
	}) {
		call, test := question{q.Test, q.Call, "call"}, question{Test: q.Test}
		d := Difference{question{"", q.Call, q.Field}, only(theirs[q], ours[q]), only(ours[q], theirs[q])}
		switch {
		case d.Recorded == d.Emulated, seen[d]:
		case theirs[test] == nil || ours[test] == nil: // only one ran it
		case q != call && (theirs[call] == nil || ours[call] == nil): // only one made it, which says all
		default:
			seen[d] = true
			d.Test = q.Test // the first
			found = append(found, d)
		}
	}
	return found
}

// only returns the values that others lack.
func only(values, others map[string]bool) string {
	lacking := maps.Clone(values)
	maps.DeleteFunc(lacking, func(value string, _ bool) bool { return others[value] })
	if len(lacking) == 0 {
		return "-"
	}
	return strings.Join(slices.Sorted(maps.Keys(lacking)), " or ")
}

func gather(calls []Call) answers {
	all := answers{}
	for i := range calls {
		c := &calls[i]
		name := strings.TrimSpace(c.kind() + " " + plain(c.Object))
		if c.Argument != "" {
			name += ", " + plain(c.Argument)
		}
		all[question{Test: c.Test}] = map[string]bool{}
		c.answer(func(field, value string) {
			q := question{c.Test, name, field}
			if all[q] == nil {
				all[q] = map[string]bool{}
			}
			all[q][value] = true
		})
	}
	return all
}

// made matches what a machine or a test makes up, and what stands for it in comparisons.
var made = []struct {
	form *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`\\\\\?\\[^\\#]+#[^\\]*\{[-0-9a-f]{36}\}`), "INTERFACE"},
	{regexp.MustCompile(`volume\{[-0-9a-f]{36}\}`), "volume{GUID}"},
	{regexp.MustCompile(`(physicaldrive|harddisk|harddiskvolume|disk )[1-9][0-9]*`), "${1}N"},
	{regexp.MustCompile(`iqn\.[^ "*]+`), "IQN"},
	{regexp.MustCompile(`\\unc\\[^\\]+\\[^\\"]+`), `\unc\SHARE`},
	{regexp.MustCompile(`^\\\\[^\\?.][^\\?]*\\[^\\"]+`), `\\SHARE`},
	{regexp.MustCompile(`\b[0-9]+(\.[0-9]+){3}(:[0-9]+)?\b`), "ADDRESS"},
	{regexp.MustCompile(`[0-9a-f]{8,}`), "HEX"},
}

// plain returns a text, in lower case, without what is made up.
func plain(text string) string {
	text = strings.ToLower(text)
	for _, m := range made {
		text = m.form.ReplaceAllString(text, m.by)
	}
	return text
}
