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
		"A group's page has the methods of its newest version. An older version's `.proto` says at each method what " +
		"differs.\n\n| Group | A new driver uses |\n|---|---|\n")
	for _, g := range r.groups {
		fmt.Fprintf(&b, "| [%s](%s.md) | %s |\n", g.name, g.name, g.recommended().name)
	}
	return b.String() + "\n" + indexText
}
