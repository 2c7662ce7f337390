// SPDX-License-Identifier: Apache-2.0

// Package similar finds the names that a mistyped one may have meant.
package similar

import (
	"slices"
	"strings"
)

// Meant returns the end of an error's text: the names that a text may have meant, or nothing.
func Meant(text string, names []string) string { return DidYouMean(Names(text, names)) }

// DidYouMean returns the end of an error's text that suggests names, or nothing without one.
func DidYouMean(near []string) string {
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}

// Names returns the names that a text may have meant: the most similar ones, three at most.
func Names(text string, names []string) []string {
	best := 1
	if len(text) > 3 {
		best = max(2, min(len(text)/3, 4))
	}
	var near []string
	for _, name := range names {
		d := distance(text, name)
		if len(text) >= 3 && strings.HasPrefix(strings.ToLower(name), strings.ToLower(text)) {
			d = min(d, 1)
		}
		if d < best {
			best, near = d, nil
		}
		if d == best {
			near = append(near, name)
		}
	}
	if text == "" {
		return nil
	}
	slices.Sort(near)
	near = slices.Compact(near)
	return near[:min(len(near), 3)]
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
