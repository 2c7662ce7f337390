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
	versions, methods, ownVersions, ownMethods := 0, 0, 0, 0
	for _, g := range r.groups {
		var links []string
		for _, v := range g.versions {
			links = append(links, fmt.Sprintf("[%s](%s.md#%s)", v.name, g.name, v.name))
			versions++
			methods += len(v.service.Methods)
			if strings.HasPrefix(g.name, "node") { // as all groups of our own do
				ownVersions++
				ownMethods += len(v.service.Methods)
			}
		}
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s | %d |\n", g.name, g.name, g.recommended().name, strings.Join(links, ", "),
			len(g.newest().service.Methods))
	}
	fmt.Fprintf(&b, "\nThe original CSI Proxy has %d versions with %d methods. Our own groups, whose names begin with "+
		"*node*, have %d with %d.\n\n", versions-ownVersions, methods-ownMethods, ownVersions, ownMethods)
	return b.String() + indexText
}
