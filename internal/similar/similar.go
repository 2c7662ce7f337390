// SPDX-License-Identifier: Apache-2.0

// Package similar finds the names that a mistyped one may have meant.
package similar

import (
	"slices"
	"strings"
)

// Names returns the names that a text may have meant: the most similar ones, three at most.
func Names(text string, names []string) []string {
	if text == "" {
		return nil
	}
	near := map[string]int{}
	for _, name := range names {
		d := distance(text, name)
		if len(text) >= 3 && strings.HasPrefix(strings.ToLower(name), strings.ToLower(text)) {
			d = min(d, 1)
		}
		allowed := 1
		if len(text) > 3 {
			allowed = max(2, min(len(text)/3, 4))
		}
		if d <= allowed {
			near[name] = d
		}
	}
	found := make([]string, 0, len(near))
	for name := range near {
		found = append(found, name)
	}
	slices.SortFunc(found, func(a, b string) int {
		if near[a] != near[b] {
			return near[a] - near[b]
		}
		return strings.Compare(a, b)
	})
	for i, name := range found {
		if i == 3 || near[name] > near[found[0]] {
			return found[:i]
		}
	}
	return found
}

// Meant returns the end of an error's text: the names that a text may have meant, or nothing.
func Meant(text string, names []string) string {
	near := Names(text, names)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}

// distance returns how many letters must be added, removed or replaced to make one text of the other, ignoring case.
func distance(a, b string) int {
	from, to := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range from {
		before := row[0]
		row[0] = i + 1
		for j, y := range to {
			change := before
			if x != y {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, before+1)
		}
	}
	return row[len(to)]
}
