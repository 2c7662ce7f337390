// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// README.md is what helm-docs makes of README.md.gotmpl and the comments in values.yaml; every value has one.
func TestChartReadmeIsGenerated(t *testing.T) {
	generator := exec.CommandContext(t.Context(), tool(t, "helm-docs"), "--chart-search-root="+chart, "--dry-run",
		"--sort-values-order=file")
	var errs strings.Builder
	generator.Stderr = &errs
	got, err := generator.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	if diff := cmp.Diff(strings.TrimSpace(string(read(t, "charts/csi-proxy/README.md"))),
		strings.TrimSpace(string(got))); diff != "" {
		t.Errorf("README.md - helm-docs +; make chart-files writes it:\n%s", diff)
	}
	rows := regexp.MustCompile(`(?m)^\| ([a-z]\S+) \| \w+ \| .* \| *(.*?) *\|$`).FindAllSubmatch(got, -1)
	if len(rows) < 40 {
		t.Errorf("there are only %d values", len(rows))
	}
	for _, row := range rows {
		if len(row[2]) == 0 {
			t.Errorf("%s is not described in values.yaml", row[1])
		}
	}
}

// The files that the documents of this part name exist.
func TestDocumentsNameFilesThatExist(t *testing.T) {
	named := regexp.MustCompile(`\b(?:deploy|charts|docs)/[A-Za-z0-9_./-]*[A-Za-z0-9]`)
	link := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	for _, document := range []string{"docs/install.md", "charts/csi-proxy/README.md"} {
		content := string(read(t, document))
		folder := document[:strings.LastIndex(document, "/")+1]
		var paths []string
		for _, match := range link.FindAllStringSubmatch(content, -1) {
			paths = append(paths, folder+match[1])
		}
		paths = append(paths, named.FindAllString(link.ReplaceAllString(content, "]"), -1)...)
		if len(paths) == 0 {
			t.Errorf("%s names no file", document)
		}
		for _, path := range paths {
			if !exists(path) {
				t.Errorf("%s names %s, which does not exist", document, path)
			}
		}
	}
}

// The scripts' own help documents each of their parameters, and install.md names no other.
func TestScriptParametersAreDescribed(t *testing.T) {
	parameter := regexp.MustCompile(`(?m)^    \[[a-z\[\]]+\] \$([A-Z]\w*)`)
	described := regexp.MustCompile(`(?m)^\.PARAMETER (\w+)$`)
	for _, script := range []string{"deploy/windows/install.ps1", "deploy/windows/uninstall.ps1", "test/windows/run.ps1"} {
		content := string(read(t, script))
		if i := strings.IndexFunc(content, func(r rune) bool { return r > '~' }); i >= 0 {
			t.Errorf("%s has %q; Windows PowerShell reads a file without a mark as ANSI", script, content[i:i+4])
		}
		first := func(matches [][]string) (names []string) {
			for _, match := range matches {
				names = append(names, match[1])
			}
			return names
		}
		_, block, _ := strings.Cut(content, "\nparam(")
		block, _, _ = strings.Cut(block, "\n)\n")
		if diff := cmp.Diff(first(parameter.FindAllStringSubmatch(block, -1)),
			first(described.FindAllStringSubmatch(content, -1))); diff != "" {
			t.Errorf("%s: parameters - help +:\n%s", script, diff)
		}
	}
	used := regexp.MustCompile(`install\.ps1((?: +-[A-Z]\w+(?: +[^-\s]\S*)*)*)`)
	all := string(read(t, "deploy/windows/install.ps1")) + string(read(t, "deploy/windows/uninstall.ps1"))
	for _, match := range used.FindAllStringSubmatch(string(read(t, "docs/install.md")), -1) {
		for _, name := range regexp.MustCompile(` -([A-Z]\w+)`).FindAllStringSubmatch(match[1], -1) {
			if name[1] != "WhatIf" && !strings.Contains(all, fmt.Sprintf("\n.PARAMETER %s\n", name[1])) {
				t.Errorf("install.md uses -%s, which the scripts do not have", name[1])
			}
		}
	}
}
