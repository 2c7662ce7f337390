// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// TestEveryMutantApplies: each change can be made, gives a Go file, and has tests that exist. Whether these notice it is
// up to make mutants, which takes long.
func TestEveryMutantApplies(t *testing.T) {
	all, err := readTables("table")
	if err != nil {
		t.Fatal(err)
	}
	titles, known := map[string]bool{}, map[string]map[string]bool{}
	for _, m := range all {
		source, err := os.ReadFile(filepath.Join(root, m.file))
		if err != nil {
			t.Errorf("%s: %v", m.where, err)
			continue
		}
		mutated, err := m.apply(string(source))
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), m.file, mutated, parser.SkipObjectResolution); err != nil {
			t.Errorf("%s: %v", m.where, err)
		}
		if titles[m.title] {
			t.Errorf("%s: there is another mutant %q", m.where, m.title)
		}
		titles[m.title] = true
		for _, trial := range m.tests {
			if known[trial.folder] == nil {
				known[trial.folder] = testsOf(t, trial.folder)
			}
			for _, name := range trial.names() {
				if !known[trial.folder][name] {
					t.Errorf("%s: %s has no test %s", m.where, trial.folder, name)
				}
			}
		}
	}
	if len(all) < 60 {
		t.Errorf("%d mutants, want at least 60", len(all))
	}
}

// testsOf returns the names of the tests in a folder.
func testsOf(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w*)\(`).FindAllStringSubmatch(string(text), -1) {
			names[match[1]] = true
		}
	}
	return names
}

func TestParseTable(t *testing.T) {
	const change = "mutant: m\nfile: f.go\n-old\n+new\n"
	for text, want := range map[string]string{
		change + "test: a TestA|TestB\n":                   "",
		"# a table\n\n" + change + "equivalent: it is\n\n": "",
		change:                                  "needs tests, or a reason",
		change + "test: a TestA\nunseen: why\n": "needs tests, or a reason",
		"mutant: m\nfile: f.go\n+new\ntest: a TestA\n":       "changes nothing",
		"mutant: m\n-old\ntest: a TestA\n":                   "changes nothing",
		change + "@@\n-x\n+y\ntest: a TestA\n":               "",
		change + "@@\n+y\ntest: a TestA\n":                   "changes nothing",
		change + "test: TestA\n":                             "is not a package and its tests",
		change + "tests: a TestA\n":                          "is not a line of a mutant",
		"file: f.go\n":                                       "is in a paragraph that does not begin",
		"mutant: m\nfile: f.go\n-old\n\ntest: a TestA\n":     "needs tests, or a reason",
		change + "test: a TestA\n" + "mutant: another one\n": "changes nothing",
	} {
		_, err := parseTable("t", text)
		if got := errorText(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestApply(t *testing.T) {
	m := mutant{file: "f.go", where: "t:1", changes: []change{{old: []string{"\tif a {", "b()"}, new: []string{"b()"}}}}
	for source, want := range map[string]string{
		"x\n\t\tif a {\n\t\t\tb()\n}\n":           "x\nb()\n}\n",
		"if a {\nc()\n}\nif a {\nb()\n}\n":        "if a {\nc()\n}\nb()\n}\n",
		"if a {\n":                                "t:1: its lines are not in f.go any more",
		"if a {\nb()\n}\nif a {\n\tb()\n\tc()\n}": "t:1: its lines are more than once in f.go",
	} {
		got, err := m.apply(source)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", source, got, want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
