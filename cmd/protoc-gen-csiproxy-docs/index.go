// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed" // for the text below the tables
	"fmt"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

// indexText tells every driver author what no .proto says.
//
//go:embed index.md
var indexText string

// index writes the overview.
func index(r *reference) string {
	var out document
	out.P(generatedMark)
	out.P()
	out.P("# API reference")
	out.P()
	out.P("What drivers may ask of the agent, group by group. Each version of a group has an endpoint of its own.")
	out.P()
	out.P(groupTable(r))
	out.P("*Use* is the version for a new driver: the newest of the most mature ones. The *hub* is the version whose " +
		"methods the")
	out.P("agent implements; those of the others lead there. What alpha, beta and stable promise is in")
	out.P("[API versions and support](../../README.md#api-versions-and-support).")
	out.P()
	for _, g := range r.groups {
		best := g.recommended()
		p := &page{reference: r, group: g, version: &apiVersion{service: &protogen.Service{}}}
		out.P("- **[", g.table.Name, "](", g.table.Name, "/", best.name, ".md)**: ",
			p.prose(firstSentence(best.service.Comments.Leading), ""))
	}
	out.P()
	out.P("## Versions")
	out.P()
	out.P(versionTable(r))
	out.P(indexText)
	return out.String()
}

// groupTable writes the state of each group, a row each.
func groupTable(r *reference) string {
	var b strings.Builder
	b.WriteString("| Group | Use | Newest | Hub | State of the newest | All versions | Methods of the newest " +
		"|\n|---|---|---|---|---|---|---|\n")
	for _, g := range r.groups {
		var all []string
		for _, v := range g.versions {
			all = append(all, link(v))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %d |\n", g.table.Name, link(g.recommended()),
			link(g.newest()), g.hub(),
			g.newest().state(), strings.Join(all, ", "), len(g.newest().service.Methods))
	}
	return b.String()
}

// versionTable writes, for each version a row, how its methods lead to the hub's.
func versionTable(r *reference) string {
	var b strings.Builder
	b.WriteString("| Version | State | Methods | Where they live |\n|---|---|---|---|\n")
	var all, own struct{ versions, methods int }
	for _, g := range r.groups {
		for _, v := range g.versions {
			all.versions++
			all.methods += len(v.service.Methods)
			if strings.HasPrefix(v.group, "node") { // as all groups of our own do
				own.versions++
				own.methods += len(v.service.Methods)
			}
			fmt.Fprintf(&b, "| [%s %s](%s/%s.md) | %s | %d | %s |\n", v.group, v.name, v.group, v.name, v.state(),
				len(v.service.Methods), g.lives(v))
		}
	}
	fmt.Fprintf(&b, "\n%d versions, %d methods.", all.versions, all.methods)
	if own.versions > 0 {
		fmt.Fprintf(&b, " The original CSI Proxy has %d and %d of them; the groups whose names begin with *node* are "+
			"our own.", all.versions-own.versions, all.methods-own.methods)
	}
	b.WriteString("\n")
	return b.String()
}

// lives sums up the routes of a version.
func (g *apiGroup) lives(v *apiVersion) string {
	if g.table.Hub == v.name {
		return "hub"
	}
	counts := map[versions.Kind]int{}
	rowless := len(v.service.Methods)
	for _, r := range g.table.Of(v.name) {
		counts[r.Kind]++
		rowless--
	}
	var parts []string
	for _, k := range []versions.Kind{versions.Same, versions.Extra, versions.Mapped, versions.Alone} {
		if counts[k] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[k], k))
		}
	}
	if rowless > 0 {
		parts = append(parts, fmt.Sprintf("%d without a row yet", rowless))
	}
	return strings.Join(parts, ", ")
}

func (g *apiGroup) hub() string {
	for _, v := range g.versions {
		if v.name == g.table.Hub {
			return link(v)
		}
	}
	return "none yet"
}

// link returns a link from the overview to a version's page.
func link(v *apiVersion) string { return fmt.Sprintf("[%s](%s/%s.md)", v.name, v.group, v.name) }
