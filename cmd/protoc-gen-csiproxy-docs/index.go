// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed" // for the text below the tables
	"fmt"
	"strings"
)

// indexText tells every driver author what no .proto says.
//
//go:embed index.md
var indexText string

// index writes the overview.
func index(r *reference) string {
	var b strings.Builder
	b.WriteString(generatedMark + "\n# API reference\n\n" +
		"What drivers may ask of the agent: a page for each group, with its newest version in full and the others as " +
		"differences.\n\n| Group | Use | Versions, newest first | Methods of the newest |\n|---|---|---|---|\n")
	for _, g := range r.groups {
		var links []string
		for _, v := range g.versions {
			links = append(links, fmt.Sprintf("[%s](%s.md#%s)", v.name, g.name, v.name))
		}
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s | %d |\n", g.name, g.name, g.recommended().name, strings.Join(links, ", "),
			len(g.newest().service.Methods))
	}
	return b.String() + "\n" + indexText
}
