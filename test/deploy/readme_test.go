// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// The table of values in the chart's README has every value, with its default.
func TestChartReadmeHasEveryValue(t *testing.T) {
	var values map[string]any
	if err := yaml.UnmarshalStrict(read(t, "charts/csi-proxy/values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	flatten(t, "", values, want)

	got := map[string]string{}
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (?:`([^`]*)`|) *\\| \\S.*\\|$")
	for _, match := range row.FindAllStringSubmatch(string(read(t, "charts/csi-proxy/README.md")), -1) {
		got[match[1]] = match[2]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values.yaml - README.md +:\n%s", diff)
	}
}

// flatten writes the leaves of values with their paths.
func flatten(t *testing.T, path string, value any, into map[string]string) {
	t.Helper()
	whole := regexp.MustCompile(`^(probes\.\w+|(service\.)?resources|updateStrategy|.*\.labels)$`) // one row each
	if object, ok := value.(map[string]any); ok && len(object) > 0 && !whole.MatchString(path) {
		for _, key := range slices.Sorted(maps.Keys(object)) {
			flatten(t, strings.TrimPrefix(path+"."+key, "."), object[key], into)
		}
		return
	}
	if text, ok := value.(string); ok {
		into[path] = text
		return
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	into[path] = string(encoded)
}

// The files that the documents of this part name exist.
func TestDocumentsNameFilesThatExist(t *testing.T) {
	named := regexp.MustCompile(`\b(?:deploy|charts|docs)/[A-Za-z0-9_./-]*[A-Za-z0-9]`)
	link := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	for _, document := range []string{"docs/install.md", "deploy/README.md", "charts/csi-proxy/README.md"} {
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
	for _, script := range []string{"deploy/windows/install.ps1", "deploy/windows/uninstall.ps1"} {
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
		if diff := cmp.Diff(first(parameter.FindAllStringSubmatch(block, -1)), first(described.FindAllStringSubmatch(content, -1))); diff != "" {
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
